import fc from 'fast-check'
import { RIGHT } from './piece.ts'
import type { Caller, Shot } from './shot.ts'
import type { Target } from './targets.ts'
import { mayDo } from './trespass.ts'

/** Requests that nothing is wrong with, by those who may send them, for each target: as many as were made, in turns by caller. */
export type RightShots = ReadonlyMap<Target, readonly Shot[]>

/** Of each caller. */
const ENOUGH = 3
const SAMPLES = 12
const ROUNDS = 20

/** What is in requests that may be carried out as they are. */
const PLAIN = /^(?:missing field|method \w+|learned field: \w+|document: (?:variables|literals|fields as variables))$/
const isPlain = (kind: string): boolean => kind === RIGHT || PLAIN.test(kind)

/** The kinds of callers whose credential opens a target; nobody too, where it asks for none. */
function openTo({ name, callers, operation }: Target): readonly Caller[] {
  const known = [...new Set(callers)].filter((caller) => mayDo(name, caller))
  return operation || name.includes(' /operator') ? known : ['nobody', ...known]
}

/** Takes a while, since most requests that are made have something wrong with them. */
export const rightShotsOf = (targets: readonly Target[], seed: number): RightShots =>
  new Map(
    targets.map((target, at) => {
      const byCaller = openTo(target).map((caller) => rightOnes(target.shots(caller), seed + at * ROUNDS))
      return [target, Array.from({ length: ENOUGH }, (_, nth) => byCaller.flatMap((shots) => shots.slice(nth, nth + 1))).flat()]
    }),
  )

function rightOnes(shots: fc.Arbitrary<Shot>, seed: number): readonly Shot[] {
  const found: Shot[] = []
  for (let round = 0; round < ROUNDS && found.length < ENOUGH; round++)
    found.push(...fc.sample(shots, { seed: seed + round, numRuns: SAMPLES }).filter(({ kinds }) => kinds.every(isPlain)))
  return found.slice(0, ENOUGH)
}
