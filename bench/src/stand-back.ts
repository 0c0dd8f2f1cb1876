import { readdirSync } from 'node:fs'
import { setPriority } from 'node:os'

/** Ten steps below the others: about a tenth of the time of a core that both of them want. */
const NICE = 10

/**
 * Lets a process take what the others leave: for one that would have a machine of its own. Linux keeps a priority for each
 * thread, and a new one has that of the thread that made it.
 * @throws Error where the process is not there
 */
export function standsBack(pid: number): void {
  for (const thread of threadsOf(pid)) setPriority(thread, NICE)
}

const threadsOf = (pid: number): readonly number[] =>
  process.platform === 'linux' ? readdirSync(`/proc/${pid}/task`).map(Number) : [pid]
