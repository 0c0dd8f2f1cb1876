/**
 * Named points at which a test kills the process by SIGKILL, so that nothing is flushed and no handler runs.
 * `PENSTOCK_TEST_CRASH_AT=<name>` kills it at the first visit, `<name>#3` at the third. Without the variable a point costs
 * one comparison.
 */
const setting = process.env['PENSTOCK_TEST_CRASH_AT']
const [target, count] = setting === undefined ? [undefined, 0] : [setting.split('#')[0], Number(setting.split('#')[1] ?? 1)]
let visits = 0

export function hitCrashPoint(name: string): void {
  if (target === undefined || name !== target) return
  visits += 1
  if (visits === count) process.kill(process.pid, 'SIGKILL')
}
