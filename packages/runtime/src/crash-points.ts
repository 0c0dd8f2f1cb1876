/**
 * Named places at which a test lets the process die, as kill -9 would: nothing is flushed, no handler runs.
 * `PENSTOCK_TEST_CRASH_AT=<name>` dies at the first visit, `<name>#3` at the third. Without the variable a point costs
 * one comparison.
 */
const armed = process.env['PENSTOCK_TEST_CRASH_AT']
const [target, count] = armed === undefined ? [undefined, 0] : [armed.split('#')[0], Number(armed.split('#')[1] ?? 1)]
let visits = 0

export function crashPoint(name: string): void {
  if (target === undefined || name !== target) return
  visits += 1
  if (visits === count) process.kill(process.pid, 'SIGKILL')
}
