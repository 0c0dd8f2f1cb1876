import { withJitter } from '@penstock/kernel/backoff.ts'
import { systemChance } from '../../system/chance.ts'
import { createInterface } from 'node:readline'
import { Fault } from '@penstock/kernel/result.ts'
import type { Chain, ChainTip } from '@penstock/ports/chain.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { ChannelChange, Invoice, Lightning, Payments } from '@penstock/ports/lightning.ts'
import { type Dispatcher, request } from 'undici'
import { createSingleFlight } from '../../shared/single-flight.ts'
import type { SimControl } from '../control.ts'
import {
  type RemoteResponse,
  REMOTE_CALLS,
  decode,
  encode,
  type RemoteInterface,
  type StreamCall,
  unwrapResponse,
} from './wire.ts'

/** The calls of `T`, each with a promise of its result. */
type RemoteCalls<T> = {
  readonly [Name in keyof T]: T[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never
}

/** A simulated network that runs in another process. */
export type RemoteSimnet = {
  readonly lightning: (alias: string) => Lightning
  readonly chain: () => Chain
  readonly control: RemoteCalls<SimControl>
}

const RETRY_MS = 250

/** @param url the address of `serveSimnet`. Every call throws a `Fault` while the server does not answer. */
export function connectRemoteSimnet(url: string, clock: Clock): RemoteSimnet {
  // The table lists the calls of each part, so the result has the type of that part.
  const createCalls = <T>(part: RemoteInterface, node = ''): T =>
    Object.fromEntries(
      REMOTE_CALLS[part].map((name) => [name, (...args: unknown[]) => call(url, { part, node, name, args })]),
    ) as T

  const createChainCalls = () => {
    const calls = createCalls<Omit<Chain, 'sees' | 'tips'>>('chain')
    return { ...calls, tip: createSingleFlight(calls.tip) }
  }

  return {
    lightning: (alias) => ({
      // Concurrent reads share a call, as at a real node.
      info: createSingleFlight(createCalls<Pick<Lightning, 'info'>>('node', alias).info),
      holds: {
        ...createCalls<Omit<Lightning['holds'], 'changes'>>('holds', alias),
        changes: (paymentHash, signal) =>
          streamWithRetries<Invoice>(url, { stream: 'changes', node: alias, paymentHash }, clock, signal),
      },
      payments: checkTimeLimit(createCalls('payments', alias), clock),
      messages: createCalls('messages', alias),
      peers: createCalls('peers', alias),
      graph: createCalls('graph', alias),
      channels: {
        ...createCalls<Omit<Lightning['channels'], 'changes'>>('channels', alias),
        changes: (signal) => streamWithRetries<ChannelChange>(url, { stream: 'channels', node: alias }, clock, signal),
      },
      wallet: createCalls('wallet', alias),
    }),
    chain: () => ({
      sees: { mempool: true },
      ...createChainCalls(),
      tips: (signal) => streamWithRetries<ChainTip>(url, { stream: 'tips' }, clock, signal),
    }),
    control: createCalls('control'),
  }
}

/** A deadline that every clock has passed. */
const EXPIRED_MS = Number.MIN_SAFE_INTEGER

/** Checks the deadline before the call. `notAfter` is a time of our monotonic clock, which the other process does not share. */
const checkTimeLimit = (payments: Payments, clock: Clock): Payments => ({
  ...payments,
  pay(request, { notAfter, ...options }) {
    const isTooLate = notAfter !== undefined && clock.monotonicMs() > notAfter
    return payments.pay(request, { ...options, ...(isTooLate && { notAfter: EXPIRED_MS }) })
  },
})

/** Posts by `request` of undici, because the global `fetch` takes several times as long for a short call. @throws Fault */
async function post(url: string, body: object, options: { signal?: AbortSignal; bodyTimeout?: number } = {}) {
  try {
    return await request(url, { method: 'POST', body: encode(body), ...options })
  } catch (error) {
    throw toFault(error)
  }
}

const toFault = (error: unknown): Fault => new Fault(`the simulated network does not answer: ${String(error)}`)

async function call(
  url: string,
  body: { part: RemoteInterface; node: string; name: string; args: readonly unknown[] },
): Promise<unknown> {
  const answer = await post(`${url}/call`, body)
  const text = await answer.body.text().catch((error: unknown) => {
    throw toFault(error)
  })
  return unwrapResponse(decode(text) as RemoteResponse) // the server writes nothing else
}

/** Opens a stream, and opens it again when it breaks, until the signal aborts. */
async function* streamWithRetries<T>(url: string, body: StreamCall, clock: Clock, signal: AbortSignal): AsyncGenerator<T> {
  while (!signal.aborted) {
    try {
      yield* streamOnce<T>(url, body, signal)
    } catch (error) {
      if (!signal.aborted && !(error instanceof Fault)) throw error
    }
    if (!signal.aborted) await clock.sleep(withJitter(RETRY_MS, systemChance), signal)
  }
}

async function* streamOnce<T>(url: string, body: StreamCall, signal: AbortSignal): AsyncGenerator<T> {
  // A stream may be silent for long.
  const { statusCode, body: input }: Dispatcher.ResponseData = await post(`${url}/stream`, body, { signal, bodyTimeout: 0 })
  if (statusCode !== 200) {
    await input.dump()
    throw new Fault(`the simulated network answered HTTP ${statusCode}`)
  }
  const lines = createInterface({ input })
  // The stream may break while no line is read, and an error without a listener ends the process.
  input.on('error', () => lines.close())
  try {
    for await (const line of lines) yield decode(line) as T // the server streams the requested values
  } catch (error) {
    throw input.errored ? toFault(error) : error
  } finally {
    lines.close()
    input.destroy()
  }
}
