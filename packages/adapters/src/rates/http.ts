import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { RateSource } from '@penstock/ports/rates.ts'
import { publicRates, type RateForm } from './public.ts'

const PATIENCE_MS = 10_000
/** Answers have a few hundred bytes; whoever sends more is not who it was. */
const MOST_BYTES = 65_536

/**
 * A price that somebody publishes over HTTP.
 * @param url where it is, in the place of the usual address
 */
export function httpRate(name: keyof typeof publicRates, clock: Clock, url = publicRates[name].url): RateSource {
  const { read } = publicRates[name]
  return { name, read: async () => ({ source: name, ...priceIn(name, read, await answerOf(url), clock.now()) }) }
}

async function answerOf(url: string): Promise<unknown> {
  try {
    const response = await fetch(url, {
      headers: { accept: 'application/json' },
      redirect: 'error',
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    if (!response.ok) throw new Fault(`${url} answered HTTP ${response.status}`)
    return JSON.parse(await textOf(response))
  } catch (error) {
    if (error instanceof Fault) throw error
    throw new Fault(`${url} says no price: ${error instanceof Error ? error.message : String(error)}`)
  }
}

async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const part of body ?? []) {
    const chunk = part as Uint8Array // what a response is made of
    bytes += chunk.length
    if (bytes > MOST_BYTES) throw new Fault('the answer is too long to be a price')
    text += decoder.decode(chunk, { stream: true })
  }
  return text
}

function priceIn(name: string, read: RateForm['read'], answer: unknown, now: number): { centsPerBtc: bigint; at: number } {
  const found = read(answer)
  const centsPerBtc = found && centsOf(found.dollars)
  if (!centsPerBtc) throw new Fault(`${name} answered in another form than it did`)
  // A source that gives a time of its own may be behind; it is never ahead of us.
  return { centsPerBtc, at: Math.min(now, found.at ?? now) }
}

/** Dollars as they are written, to the cent; what is below is cut off. */
function centsOf(dollars: string): bigint | undefined {
  const [, whole, part = ''] = /^(\d{1,12})(?:\.(\d{1,12}))?$/.exec(dollars) ?? []
  return whole === undefined ? undefined : BigInt(whole + part.slice(0, 2).padEnd(2, '0'))
}
