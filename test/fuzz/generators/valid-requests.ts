import fc from 'fast-check'
import { VALID_VALUE } from './json-node.ts'
import type { FuzzCaller, FuzzRequest } from '../request.ts'
import type { FuzzTarget } from './targets.ts'
import { mayUseTarget } from '../checks/authorization.ts'

/** Valid requests for each target. Consecutive requests have different callers, and each caller may use the target. */
export type ValidRequests = ReadonlyMap<FuzzTarget, readonly FuzzRequest[]>

/** Maximum number of requests per caller. */
const REQUESTS_PER_CALLER = 3
const SAMPLES = 12
const SAMPLING_ROUNDS = 20

/** Kinds that do not make a request invalid. */
const VALID_KINDS = /^(?:missing field|method \w+|learned field: \w+|document: (?:variables|literals|fields as variables))$/
const isValidKind = (kind: string): boolean => kind === VALID_VALUE || VALID_KINDS.test(kind)

/** Lists the kinds of callers that may use a target, with 'nobody' if it needs no credential. */
function listAllowedCallers({ name, callers, operation }: FuzzTarget): readonly FuzzCaller[] {
  const known = [...new Set(callers)].filter((caller) => mayUseTarget(name, caller))
  return operation || name.includes(' /operator') ? known : ['nobody', ...known]
}

/** Samples valid requests. It takes a while, because most generated requests are invalid. */
export const sampleValidRequests = (targets: readonly FuzzTarget[], seed: number): ValidRequests =>
  new Map(
    targets.map((target, at) => {
      const byCaller = listAllowedCallers(target).map((caller) =>
        sampleValid(target.generateRequests(caller), seed + at * SAMPLING_ROUNDS),
      )
      return [
        target,
        Array.from({ length: REQUESTS_PER_CALLER }, (_, index) =>
          byCaller.flatMap((requests) => requests.slice(index, index + 1)),
        ).flat(),
      ]
    }),
  )

function sampleValid(requests: fc.Arbitrary<FuzzRequest>, seed: number): readonly FuzzRequest[] {
  const valid: FuzzRequest[] = []
  for (let round = 0; round < SAMPLING_ROUNDS && valid.length < REQUESTS_PER_CALLER; round++)
    valid.push(...fc.sample(requests, { seed: seed + round, numRuns: SAMPLES }).filter(({ kinds }) => kinds.every(isValidKind)))
  return valid.slice(0, REQUESTS_PER_CALLER)
}
