import fc from 'fast-check'
import type { FuzzCallers } from './callers.ts'
import type { FuzzMarket } from './fuzz-market.ts'
import type { FuzzCaller, FuzzRequest } from './request.ts'
import type { FuzzTarget } from './generators/targets.ts'
import { type RawBytes, sendRaw } from './raw-connection.ts'

/** Requests per kind and target. */
const REQUESTS_PER_KIND = 3
const SAMPLES = 40

/** Ways to truncate a body. A complete request may be carried out; a truncated request must not be. */
const TRUNCATIONS: Readonly<Record<string, (head: string, body: Buffer) => readonly RawBytes[]>> = {
  'one byte short': (head, body) => [`${head}content-length: ${body.length + 1}\r\n\r\n`, body],
  'without its last byte': (head, body) => [`${head}content-length: ${body.length}\r\n\r\n`, body.subarray(0, -1)],
  'without the last chunk': (head, body) => [
    `${head}transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`,
    body,
    '\r\n',
  ],
}

export type TruncatedResult = {
  readonly violations: readonly string[]
  /** Names of targets that were tried. */
  readonly triedTargets: ReadonlySet<string>
}

/**
 * Sends truncated requests to every target that takes a body, by callers that may use the target. Their effects are checked
 * later, together with the effects of all other requests.
 */
export async function sendTruncated(
  market: Pick<FuzzMarket, 'host' | 'port'>,
  callers: Pick<FuzzCallers, 'authorization'>,
  targets: readonly FuzzTarget[],
  seed: number,
): Promise<TruncatedResult> {
  const triedTargets = new Set<string>()
  const violations: string[] = []
  for (const [at, target] of targets.entries()) {
    const requests = sampleBodies(target, seed + at).slice(0, REQUESTS_PER_KIND * Object.keys(TRUNCATIONS).length)
    const truncations = Object.entries(TRUNCATIONS)
    await Promise.all(
      requests.map(async (request, index) => {
        const [kind, truncate] = truncations[index % truncations.length] as (typeof truncations)[number] // the index is in range
        triedTargets.add(target.name)
        const parts = truncate(buildHead(request, callers.authorization(request.caller)), Buffer.from(request.body ?? ''))
        const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(await sendRaw(market, parts, true)) ?? []
        if (status !== undefined && !status.startsWith('4'))
          violations.push(
            `${target.name}, ${kind}, by ${request.caller}: answered ${status}\n  ${String(request.body).slice(0, 500)}`,
          )
      }),
    )
  }
  return { violations, triedTargets }
}

function sampleBodies(target: FuzzTarget, seed: number): readonly FuzzRequest[] {
  const callers: readonly FuzzCaller[] = target.callers.includes('operator') && !target.operation ? ['operator'] : target.callers
  const arbitrary = fc.constantFrom(...callers).chain(target.generateRequests)
  return fc
    .sample(arbitrary, { seed, numRuns: SAMPLES })
    .filter(({ method, body, headers }) => method === 'POST' && (body?.length ?? 0) > 0 && !('transfer-encoding' in headers))
}

export function buildHead({ method, path, headers }: FuzzRequest, authorization: string | undefined): string {
  const all = Object.entries({ host: 'x', ...headers, ...(authorization !== undefined && { authorization }) })
  return `${[`${method} ${path} HTTP/1.1`, ...all.map(([name, value]) => `${name}: ${value}`)].join('\r\n')}\r\n`
}
