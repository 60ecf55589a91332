# Summary of one CSV of bench/run.sh: for each subject the median of seconds, MB/s and CPU seconds, and, over rounds,
# the median and the 80 % interval of its seconds divided by haul's in the same round (2.0 = haul is twice as fast).
#
# Usage: awk -f bench/summary.awk FILE.csv
BEGIN { FS = "," }
/^#/ { print; next }
$1 == "what" { next }
{
	if (!($3 in count)) names[++name_count] = $3
	n = ++count[$3]
	seconds[$3, n] = $4
	rate[$3, n] = $5
	cpu[$3, n] = $6
	by_round[$3, $2] = $4
	if ($2 > rounds) rounds = $2
}
END {
	printf "%-14s %4s %9s %9s %7s   %s\n", "subject", "n", "seconds", "MB/s", "CPU s", "time / haul's: median [80 %]"
	for (i = 1; i <= name_count; i++) {
		s = names[i]
		printf "%-14s %4d %9.3f %9.1f %7.2f   %s\n", s, count[s], of(seconds, s, 0.5), of(rate, s, 0.5), of(cpu, s, 0.5),
			ratio(s)
	}
}
function of(table, s, q,    i, list) {
	for (i = 1; i <= count[s]; i++) list[i] = table[s, i]
	return quantile(list, count[s], q)
}
function ratio(s,    r, list, n) {
	n = 0
	for (r = 1; r <= rounds; r++)
		if ((s, r) in by_round && ("haul", r) in by_round && by_round["haul", r] > 0)
			list[++n] = by_round[s, r] / by_round["haul", r]
	if (n == 0) return "-"
	return sprintf("%.2f [%.2f, %.2f]", quantile(list, n, 0.5), quantile(list, n, 0.1), quantile(list, n, 0.9))
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
