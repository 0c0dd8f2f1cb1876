/**
 * Named points at which a test kills the process by SIGKILL, so that nothing is flushed and no handler runs.
 * `PENSTOCK_TEST_CRASH_AT=<name>` kills it at the first visit, `<name>#3` at the third. Without the variable a point costs
 * one comparison.
 */
const setting = process.env['PENSTOCK_TEST_CRASH_AT']

/** Handles the visit of a crash point. It returns if the process survives. */
export type CrashPointHandler = (name: string) => void

let handleVisit = setting === undefined ? undefined : createKill(setting)

function createKill(setting: string): CrashPointHandler {
  const [target, visit = '1'] = setting.split('#')
  let visits = 0
  return (name) => {
    if (name !== target) return
    visits += 1
    if (visits === Number(visit)) process.kill(process.pid, 'SIGKILL')
  }
}

export function hitCrashPoint(name: string): void {
  handleVisit?.(name)
}

/**
 * Replaces the handler of all crash points. The simulation runs many processes in one, and crashes only one of them.
 * @returns a function that restores the previous handler
 */
export function replaceCrashPointHandler(handler: CrashPointHandler): () => void {
  const previous = handleVisit
  handleVisit = handler
  return () => void (handleVisit = previous)
}
