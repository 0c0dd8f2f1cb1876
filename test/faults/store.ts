import { setTimeout as sleep } from 'node:timers/promises'
import { type DoubleProcess, startDouble } from '../kurrentdb/double/process.ts'
import type { Random } from './random.ts'

const KINDS = ['kill', 'stop', 'restart'] as const

/** `stop`: by SIGSTOP, with all connections open. */
type Blow = { readonly atMs: number; readonly what: (typeof KINDS)[number]; readonly forMs: number }

/** What strikes the store in a round: each kind once, in any order, and one more. */
export function blowsOf(random: Random, longMs: number): readonly Blow[] {
  const kinds = [...KINDS, random.pick(KINDS)]
  return kinds
    .map((what) => ({ atMs: random.between(500, longMs), what, forMs: random.between(200, 3000) }))
    .toSorted((a, b) => a.atMs - b.atMs)
}

/** The double of an event store in a process of its own, whose log is a file. */
export const startStore = (file: string): Promise<DoubleProcess> => startDouble(file)

/** One blow after the other. @returns what struck, and how often */
export async function strike(store: DoubleProcess, blows: readonly Blow[]): Promise<readonly string[]> {
  const begun = performance.now()
  for (const { atMs, what, forMs } of blows) {
    await sleep(Math.max(0, atMs - (performance.now() - begun)))
    if (what === 'kill') await store.killFor(forMs)
    else if (what === 'stop') await store.pauseFor(forMs)
    else store.restart()
  }
  return blows.map(({ what }) => what)
}
