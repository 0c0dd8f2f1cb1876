import fc from 'fast-check'
import type { Callers } from './callers.ts'
import type { Market } from './market.ts'
import type { Caller, Shot } from './shot.ts'
import type { Target } from './targets.ts'
import { type Bytes, exchange } from './wire.ts'

/** Of each kind, at each target. */
const EACH = 3
const SAMPLES = 40

/** How a body ends before its end. Whole it may be carried out; like this it must not be. */
const CUTS: Readonly<Record<string, (head: string, body: Buffer) => readonly Bytes[]>> = {
  'one byte short': (head, body) => [`${head}content-length: ${body.length + 1}\r\n\r\n`, body],
  'without its last byte': (head, body) => [`${head}content-length: ${body.length}\r\n\r\n`, body.subarray(0, -1)],
  'without the last chunk': (head, body) => [
    `${head}transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`,
    body,
    '\r\n',
  ],
}

export type CutShots = {
  readonly faults: readonly string[]
  /** Names of targets that were tried. */
  readonly tried: ReadonlySet<string>
}

/**
 * Requests to everything that takes a body, by whoever may send them, each without the end of its body. What that leaves
 * behind is looked for afterwards, with what everything else does.
 */
export async function fireCut(
  market: Pick<Market, 'host' | 'port'>,
  callers: Pick<Callers, 'authorization'>,
  targets: readonly Target[],
  seed: number,
): Promise<CutShots> {
  const tried = new Set<string>()
  const faults: string[] = []
  for (const [at, target] of targets.entries()) {
    const shots = withBodies(target, seed + at).slice(0, EACH * Object.keys(CUTS).length)
    const cut = Object.entries(CUTS)
    await Promise.all(
      shots.map(async (shot, index) => {
        const [how, make] = cut[index % cut.length] as (typeof cut)[number] // there is one at every such index
        tried.add(target.name)
        const parts = make(headOf(shot, callers.authorization(shot.caller)), Buffer.from(shot.body ?? ''))
        const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(await exchange(market, parts, true)) ?? []
        if (status !== undefined && !status.startsWith('4'))
          faults.push(`${target.name}, ${how}, by ${shot.caller}: answered ${status}\n  ${String(shot.body).slice(0, 500)}`)
      }),
    )
  }
  return { faults, tried }
}

function withBodies(target: Target, seed: number): readonly Shot[] {
  const callers: readonly Caller[] = target.callers.includes('operator') && !target.operation ? ['operator'] : target.callers
  const arbitrary = fc.constantFrom(...callers).chain(target.shots)
  return fc
    .sample(arbitrary, { seed, numRuns: SAMPLES })
    .filter(({ method, body, headers }) => method === 'POST' && (body?.length ?? 0) > 0 && !('transfer-encoding' in headers))
}

export function headOf({ method, path, headers }: Shot, authorization: string | undefined): string {
  const all = Object.entries({ host: 'x', ...headers, ...(authorization !== undefined && { authorization }) })
  return `${[`${method} ${path} HTTP/1.1`, ...all.map(([name, value]) => `${name}: ${value}`)].join('\r\n')}\r\n`
}
