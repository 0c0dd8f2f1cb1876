import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { Fault } from '@penstock/kernel/result.ts'
import type { Chain, ChainTip } from '@penstock/ports/chain.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { ChannelChange, Invoice, Lightning, Payments } from '@penstock/ports/lightning.ts'
import type { SimControl } from '../control.ts'
import { type Answer, CALLS, decode, encode, type Part, type StreamCall, valueOf } from './wire.ts'

/** The same calls, answered later. */
type Remote<T> = {
  readonly [Name in keyof T]: T[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never
}

/** A simulated network that another process keeps. */
export type RemoteSimnet = {
  readonly lightning: (alias: string) => Lightning
  readonly chain: () => Chain
  readonly control: Remote<SimControl>
}

const AGAIN_AFTER_MS = 250

/** @param url of `serveSimnet`. Every call throws `Fault` while nobody answers there. */
export function remoteSimnet(url: string, clock: Clock): RemoteSimnet {
  // The table lists each part's calls, so what it makes has the shape of that part.
  const callsOf = <T>(part: Part, node = ''): T =>
    Object.fromEntries(CALLS[part].map((name) => [name, (...args: unknown[]) => call(url, { part, node, name, args })])) as T

  return {
    lightning: (alias) => ({
      ...callsOf<Pick<Lightning, 'info'>>('node', alias),
      holds: {
        ...callsOf<Omit<Lightning['holds'], 'changes'>>('holds', alias),
        changes: (paymentHash, signal) => lasting<Invoice>(url, { stream: 'changes', node: alias, paymentHash }, clock, signal),
      },
      payments: limited(callsOf('payments', alias), clock),
      messages: callsOf('messages', alias),
      peers: callsOf('peers', alias),
      graph: callsOf('graph', alias),
      channels: {
        ...callsOf<Omit<Lightning['channels'], 'changes'>>('channels', alias),
        changes: (signal) => lasting<ChannelChange>(url, { stream: 'channels', node: alias }, clock, signal),
      },
      wallet: callsOf('wallet', alias),
    }),
    chain: () => ({
      sees: { mempool: true },
      ...callsOf<Omit<Chain, 'sees' | 'tips'>>('chain'),
      tips: (signal) => lasting<ChainTip>(url, { stream: 'tips' }, clock, signal),
    }),
    control: callsOf('control'),
  }
}

/** Past by every clock. */
const LONG_AGO_MS = Number.MIN_SAFE_INTEGER

/** The time limit is a reading of our own clock, which says nothing to the other process: it is looked at before the call. */
const limited = (payments: Payments, clock: Clock): Payments => ({
  ...payments,
  pay(request, { notAfter, ...options }) {
    const isTooLate = notAfter !== undefined && clock.monotonicMs() > notAfter
    return payments.pay(request, { ...options, ...(isTooLate && { notAfter: LONG_AGO_MS }) })
  },
})

const post = (url: string, path: string, body: object, signal?: AbortSignal): Promise<Response> =>
  fetch(`${url}${path}`, { method: 'POST', body: encode(body), ...(signal && { signal }) })

async function call(url: string, body: { part: Part; node: string; name: string; args: readonly unknown[] }): Promise<unknown> {
  let text: string
  try {
    text = await (await post(url, '/call', body)).text()
  } catch (error) {
    throw new Fault(`the simulated network does not answer: ${String(error)}`)
  }
  return valueOf(decode(text) as Answer) // the server writes nothing else
}

/** A stream that is begun again when it breaks, until the signal. */
async function* lasting<T>(url: string, body: StreamCall, clock: Clock, signal: AbortSignal): AsyncGenerator<T> {
  while (!signal.aborted) {
    try {
      yield* once<T>(url, body, signal)
    } catch (error) {
      if (!signal.aborted && !(error instanceof TypeError || error instanceof Fault)) throw error // fetch throws TypeErrors
    }
    if (!signal.aborted) await clock.sleep(AGAIN_AFTER_MS, signal)
  }
}

async function* once<T>(url: string, body: StreamCall, signal: AbortSignal): AsyncGenerator<T> {
  const response = await post(url, '/stream', body, signal)
  if (!response.ok || !response.body) throw new Fault(`the simulated network answered HTTP ${response.status}`)
  const input = Readable.fromWeb(response.body)
  const lines = createInterface({ input })
  // It may break while nobody asks for the next line, and an error that nobody hears ends the process.
  input.on('error', () => lines.close())
  try {
    for await (const line of lines) yield decode(line) as T // the server streams what was asked for
  } finally {
    lines.close()
    input.destroy()
  }
}
