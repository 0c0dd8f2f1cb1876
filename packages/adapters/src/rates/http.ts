import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { RateSource } from '@penstock/ports/rates.ts'
import { publicRateSources, type RateSourceFormat } from './public-rate-sources.ts'

const TIMEOUT_MS = 10_000
/** Maximum size of an answer. Real answers have a few hundred bytes. */
const MAX_RESPONSE_BYTES = 65_536

/**
 * A source that publishes a price over HTTP.
 * @param url replaces the public address of the price
 */
export function httpRateSource(
  name: keyof typeof publicRateSources,
  clock: Clock,
  url = publicRateSources[name].url,
): RateSource {
  const { read } = publicRateSources[name]
  return { name, read: async () => ({ source: name, ...parsePrice(name, read, await fetchJson(url), clock.now()) }) }
}

async function fetchJson(url: string): Promise<unknown> {
  try {
    const response = await fetch(url, {
      headers: { accept: 'application/json' },
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (!response.ok) throw new Fault(`${url} answered HTTP ${response.status}`)
    return JSON.parse(await readBody(response))
  } catch (error) {
    if (error instanceof Fault) throw error
    throw new Fault(`${url} returned no price: ${error instanceof Error ? error.message : String(error)}`)
  }
}

async function readBody({ body }: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const part of body ?? []) {
    const chunk = part as Uint8Array // a response body consists of these
    bytes += chunk.length
    if (bytes > MAX_RESPONSE_BYTES) throw new Fault('the answer is too long to be a price')
    text += decoder.decode(chunk, { stream: true })
  }
  return text
}

function parsePrice(
  name: string,
  read: RateSourceFormat['read'],
  answer: unknown,
  now: number,
): { centsPerBtc: bigint; at: number } {
  const found = read(answer)
  const centsPerBtc = found && parseCents(found.dollars)
  if (!centsPerBtc) throw new Fault(`${name} answered in an unknown format`)
  // The timestamp of a source may be in the past; a future one counts as now.
  return { centsPerBtc, at: Math.min(now, found.at ?? now) }
}

/** Parses dollars to cents; smaller fractions are cut off. */
function parseCents(dollars: string): bigint | undefined {
  const [, whole, part = ''] = /^(\d{1,12})(?:\.(\d{1,12}))?$/.exec(dollars) ?? []
  return whole === undefined ? undefined : BigInt(whole + part.slice(0, 2).padEnd(2, '0'))
}
