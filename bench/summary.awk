# Summary of one CSV of bench/run.sh: for each subject the median of seconds, MB/s, CPU seconds and CPU seconds per GB,
# and, over rounds, the median and the 80 % interval of its seconds divided by the reference's in the same round
# (2.0 = the reference is twice as fast). The reference is haul unless the head names another.
#
# Two limits are made of what was measured, round by round:
#   L       the least of limit, limit-phased and limit-buffered: what one disk gives at best when it serves both ends
#   narrow  the most of limit-read, limit-write and iperf3: what the narrowest of source disk, link and destination disk
#           takes by itself
#
# Usage: awk -f bench/summary.awk [-v form=csv] FILE.csv     (csv: the same as lines for bench/chart.py)
BEGIN { FS = ","; reference = "haul" }
/^# reference / { sub(/^# reference /, ""); reference = $0; next }
/^# memory / { next }
/^#/ { if (form != "csv") print; next }
$1 == "what" { next }
{
	add($3, $2, $4, $5, $6, $7)
	bytes = $5 * $4
	if ($3 ~ /^limit(-phased|-buffered)?$/) best["L", $2] = lesser(best["L", $2], $4)
	if ($3 ~ /^(limit-read|limit-write|iperf3)$/) {
		best["narrow", $2] = greater(best["narrow", $2], $4)
		narrow_parts[$2]++
	}
	if ($3 ~ /^limit-(phased|buffered)$/) has_choice = 1
	rate_of_second[$2] = bytes
}
END {
	for (r = 1; r <= rounds; r++) {
		if (has_choice && ("L", r) in best) add("L", r, best["L", r], rate_of_second[r] / best["L", r], "", "")
		if (narrow_parts[r] == 3) add("narrow", r, best["narrow", r], rate_of_second[r] / best["narrow", r], "", "")
	}
	if (form == "csv") print "subject,n,seconds,seconds_low,seconds_high,mb_per_s,cpu_s_per_gb,ratio,ratio_low,ratio_high"
	else
		printf "%-15s %3s %9s %9s %7s %7s   %s\n", "subject", "n", "seconds", "MB/s", "CPU s", "CPU/GB",
			"time / " reference "'s: median [80 %]"
	for (i = 1; i <= name_count; i++) line(names[i])
}
function add(name, round, s, r, c, g,    n) {
	if (!(name in count)) names[++name_count] = name
	n = ++count[name]
	seconds[name, n] = s
	rate[name, n] = r
	cpu[name, n] = c
	cpu_gb[name, n] = g
	by_round[name, round] = s
	if (round + 0 > rounds) rounds = round + 0
}
function line(s,    list, n) {
	n = ratios(s, list)
	if (form == "csv")
		printf "%s,%d,%.3f,%.3f,%.3f,%.1f,%s,%s\n", s, count[s], of(seconds, s, 0.5), of(seconds, s, 0.1),
			of(seconds, s, 0.9), of(rate, s, 0.5), either(cpu_gb, s), \
			n == 0 ? ",," : sprintf("%.3f,%.3f,%.3f", quantile(list, n, 0.5), quantile(list, n, 0.1), quantile(list, n, 0.9))
	else
		printf "%-15s %3d %9.3f %9.1f %7s %7s   %s\n", s, count[s], of(seconds, s, 0.5), of(rate, s, 0.5), either(cpu, s),
			either(cpu_gb, s), n == 0 ? "-" : sprintf("%.2f [%.2f, %.2f]", quantile(list, n, 0.5), \
			quantile(list, n, 0.1), quantile(list, n, 0.9))
}
# Sessions of before had no CPU seconds per GB, and the limits made above have no CPU.
function either(table, s) { return table[s, 1] == "" ? "" : sprintf("%.2f", of(table, s, 0.5)) }
function lesser(a, b) { return a == "" || b + 0 < a + 0 ? b : a }
function greater(a, b) { return a == "" || b + 0 > a + 0 ? b : a }
function of(table, s, q,    i, list) {
	for (i = 1; i <= count[s]; i++) list[i] = table[s, i]
	return quantile(list, count[s], q)
}
function ratios(s, list,    r, n) {
	n = 0
	for (r = 1; r <= rounds; r++)
		if ((s, r) in by_round && (reference, r) in by_round && by_round[reference, r] > 0)
			list[++n] = by_round[s, r] / by_round[reference, r]
	return n
}
# Linear interpolation between order statistics; the list is sorted in place.
function quantile(list, n, q,    i, j, t, at, low) {
	for (i = 2; i <= n; i++) {
		t = list[i] + 0
		for (j = i - 1; j >= 1 && list[j] + 0 > t; j--) list[j + 1] = list[j]
		list[j + 1] = t
	}
	at = 1 + (n - 1) * q
	low = int(at)
	if (low >= n) return list[n] + 0
	return list[low] + (at - low) * (list[low + 1] - list[low])
}
