import { setTimeout as sleep } from 'node:timers/promises'
import { type DoubleProcess, startDoubleProcess } from '../kurrentdb/double/process.ts'
import type { SeededRandom } from './random.ts'

const STORE_FAULT_KINDS = ['kill', 'stop', 'restart'] as const

/** `stop` pauses the store by SIGSTOP for `forMs`, and its connections stay open. */
type StoreFault = { readonly atMs: number; readonly kind: (typeof STORE_FAULT_KINDS)[number]; readonly forMs: number }

/** Plans four faults of the store in a round: each kind once, and one random kind again, at random times. */
export function planStoreFaults(random: SeededRandom, durationMs: number): readonly StoreFault[] {
  const kinds = [...STORE_FAULT_KINDS, random.pick(STORE_FAULT_KINDS)]
  return kinds
    .map((kind) => ({ atMs: random.between(500, durationMs), kind, forMs: random.between(200, 3000) }))
    .toSorted((a, b) => a.atMs - b.atMs)
}

/** Starts a test double of KurrentDB in its own process. @param file the file that contains its log */
export const startStoreDouble = (file: string): Promise<DoubleProcess> => startDoubleProcess(file)

/** Injects the faults one after the other. @returns the kind of each fault */
export async function injectStoreFaults(store: DoubleProcess, faults: readonly StoreFault[]): Promise<readonly string[]> {
  const startedAt = performance.now()
  for (const { atMs, kind, forMs } of faults) {
    await sleep(Math.max(0, atMs - (performance.now() - startedAt)))
    if (kind === 'kill') await store.killFor(forMs)
    else if (kind === 'stop') await store.pauseFor(forMs)
    else store.restart()
  }
  return faults.map(({ kind }) => kind)
}
