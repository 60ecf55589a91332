# Mailboxes, channels, control links and the listener.
haul_unit_test(mailbox LIBS haul_agent)
