import { setTimeout as sleep } from 'node:timers/promises'
import type { TestCluster } from '../../../test/support/cluster.ts'
import { openJsonClient } from '../callers.ts'
import { type CpuWindow, measureCpu } from './cpu.ts'

export type RefusalCpu = { readonly window: CpuWindow; readonly refused: number }

/** The service that every purchase needs first. */
const STOPPED_SERVICE = 'quote'
/** More purchases than an idle market admits at once. */
const FILLING_PURCHASES = 128
const CALLERS = 8
/** Kafka removes the stopped service from its group after ten seconds. */
const WINDOW_MS = 5000
const FILLING_MS = 1000

/**
 * Measures the CPU of refused purchases at a market that has to refuse every new one: a service is stopped, so the admitted
 * purchases wait, and nothing is served meanwhile.
 * @throws Error if a purchase of the window was not refused
 */
export async function measureRefusals(cluster: TestCluster, buyBody: string): Promise<RefusalCpu> {
  const pids = cluster.processes().flatMap(({ name, pid }) => (name === STOPPED_SERVICE && pid !== undefined ? [pid] : []))
  const client = openJsonClient(`${cluster.url}/graphql`, FILLING_PURCHASES + CALLERS)
  const counts = { refused: 0, answered: 0 }
  const buy = async (): Promise<void> => {
    const answer = await client.call(buyBody)
    counts.answered++
    if (answer.includes('"retry_after":')) counts.refused++
  }
  const buyRepeatedly = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) await buy()
  }
  const signalAll = (signal: NodeJS.Signals): void => pids.forEach((pid) => process.kill(pid, signal))
  signalAll('SIGSTOP')
  try {
    const waiting = Array.from({ length: FILLING_PURCHASES }, buy)
    await sleep(FILLING_MS)
    if (counts.refused === 0) throw new Error(`the market admitted ${FILLING_PURCHASES} purchases at once`)
    const before = { ...counts }
    const { result: calling, ...window } = await measureCpu(cluster, async () => {
      const end = AbortSignal.timeout(WINDOW_MS)
      const callers = Array.from({ length: CALLERS }, () => buyRepeatedly(end))
      await sleep(WINDOW_MS)
      return callers
    })
    const [refused, answered] = [counts.refused - before.refused, counts.answered - before.answered]
    signalAll('SIGCONT')
    await Promise.all([...waiting, ...calling])
    if (answered !== refused) throw new Error(`${answered - refused} of ${answered} purchases were not refused`)
    return { window, refused }
  } finally {
    signalAll('SIGCONT')
    client.close()
  }
}
