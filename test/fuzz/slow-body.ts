import type { RequestRunner } from './runner.ts'
import type { ValidRequests } from './generators/valid-requests.ts'
import type { FuzzRequest } from './request.ts'
import { hasRequestBody } from './slow-callers.ts'

export type SlowBodyResult = {
  readonly violations: readonly string[]
  /** The number of finished requests and of their results, by target name. */
  readonly answered: ReadonlyMap<string, { readonly requests: number; readonly results: number }>
}

const REQUESTS_PER_TARGET = 3
export const SLOW_BODY = 'slow body'

/**
 * Sends valid requests concurrently to every target that takes a body. Each body is sent in pieces, and ends within the server's
 * time limit. The answers are checked like all others.
 * @param fromMs duration of the fastest request in milliseconds; each further request takes slightly longer, so that they do not
 * end at the same time
 */
export async function sendSlowBodies(
  runner: RequestRunner,
  validRequests: ValidRequests,
  fromMs: number,
): Promise<SlowBodyResult> {
  const violations: string[] = []
  const answered = new Map<string, { requests: number; results: number }>()
  const requests = [...validRequests].flatMap(([target, targetRequests]) =>
    (hasRequestBody(target) ? targetRequests.slice(0, REQUESTS_PER_TARGET) : []).map((request, index) => ({
      target,
      shot: index % 2 === 0 ? request : withContentLength(request),
    })),
  )
  await Promise.all(
    requests.map(async ({ target, shot: request }, at) => {
      const slowRequest = { ...request, bodyTakesMs: fromMs + 50 * at, kinds: [...request.kinds, SLOW_BODY] }
      const results = await runner.run(target, slowRequest).catch((error: unknown) => {
        violations.push(
          `${target.name}, body in pieces, by ${request.caller}: ${String(error)}\n  ${String(request.body).slice(0, 500)}`,
        )
        return 0
      })
      const { requests, results: before } = answered.get(target.name) ?? { requests: 0, results: 0 }
      answered.set(target.name, { requests: requests + 1, results: before + results })
    }),
  )
  return { violations, answered }
}

const withContentLength = (request: FuzzRequest): FuzzRequest => ({
  ...request,
  headers: { ...request.headers, 'content-length': `${Buffer.from(request.body ?? '').length}` },
})
