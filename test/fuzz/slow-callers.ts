import { connect, type Socket } from 'node:net'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import type { FuzzCallers } from './callers.ts'
import { buildHead } from './truncated-requests.ts'
import type { FuzzMarket } from './fuzz-market.ts'
import type { ValidRequests } from './generators/valid-requests.ts'
import type { FuzzRequest } from './request.ts'
import type { FuzzTarget } from './generators/targets.ts'
import type { RawBytes } from './raw-connection.ts'

/** A slow caller. It sends `beginning`, and then sends `repeated` again and again. */
type SlowCaller = { readonly name: string; readonly beginning: readonly RawBytes[]; readonly repeated?: string }

export type SlowCallers = {
  readonly count: number
  /** Names of targets that were tried. */
  readonly triedTargets: ReadonlySet<string>
  /** Waits until the server has closed every connection. @returns a sentence for each connection that is open or was answered */
  waitUntilClosed(timeoutMs: number): Promise<readonly string[]>
}

const BYTE_INTERVAL_MS = 500
const SILENT_CALLERS = 8
/** The server's answer to a caller that takes too long. It is empty if a connection reset arrives before the answer. */
const TIMEOUT_RESPONSE = /^(?:HTTP\/1\.1 408 [^\r\n]+\r\nconnection: close\r\n\r\n)?$/i
/** Before this time, the server must not disconnect a caller that still sends data. */
const MIN_PATIENCE_MS = 9000

/** Bodies that begin validly and never end. */
const UNFINISHED_BODIES: Readonly<Record<string, (head: string, body: Buffer) => Omit<SlowCaller, 'name'>>> = {
  'a byte short, in silence': (head, body) => ({ beginning: [`${head}content-length: ${body.length + 1}\r\n\r\n`, body] }),
  'blank after blank': (head, body) => ({
    beginning: [`${head}content-length: ${body.length + 5000}\r\n\r\n`, body],
    repeated: ' ',
  }),
  'chunk after chunk': (head, body) => ({
    beginning: [`${head}transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`, body, '\r\n'],
    repeated: '1\r\n \r\n',
  }),
}

/** Valid requests for each target, and the credentials of their callers. */
export type SlowOptions = { readonly callers: Pick<FuzzCallers, 'authorization'>; readonly validRequests: ValidRequests }

/**
 * Starts callers that send a few bytes at intervals, in the headers or in the body, and never finish. They try every target, with
 * a credential that the target accepts. A few other callers send nothing.
 */
export function startSlowCallers(
  market: Pick<FuzzMarket, 'host' | 'port'>,
  { callers, validRequests }: SlowOptions,
): SlowCallers {
  const targets = [...validRequests]
  const heads = targets.flatMap(([target, [request]]) => createSlowHeads(target, request, callers))
  const bodies = targets.flatMap(([target, requests]) => createSlowBodies(target, requests, callers))
  const slowCallers: readonly SlowCaller[] = [
    ...Array.from({ length: SILENT_CALLERS }, () => ({ name: 'nothing', beginning: [] })),
    ...heads,
    ...bodies,
  ]
  const open = new Set<string>()
  const violations: string[] = []
  const sockets = slowCallers.map((caller, at) => {
    const name = `${at}: ${caller.name}`
    open.add(name)
    return sendWithoutEnd(market, caller, (text, afterMs) => {
      if (!open.delete(name) || (TIMEOUT_RESPONSE.test(text) && afterMs > MIN_PATIENCE_MS)) return
      violations.push(
        `${caller.name}: never finished a request, and was answered after ${Math.round(afterMs)} ms: "${text.slice(0, 300)}"`,
      )
    })
  })
  return {
    count: slowCallers.length,
    triedTargets: new Set(
      targets.flatMap(([{ name }]) => (bodies.some((one) => one.name.startsWith(`${name}, `)) ? [name] : [])),
    ),
    async waitUntilClosed(timeoutMs) {
      await waitUntil('the end of all slow callers', () => open.size === 0, timeoutMs, 50).catch(() => undefined)
      const openViolations = [...open].map((name) => `${name}: never finished a request, and is still connected`)
      open.clear()
      for (const socket of sockets) socket.destroy()
      return [...violations, ...openViolations]
    },
  }
}

function createSlowHeads(
  { name }: FuzzTarget,
  request: FuzzRequest | undefined,
  { authorization }: SlowOptions['callers'],
): readonly SlowCaller[] {
  if (!request || name.startsWith('another method')) return []
  const beginning = [buildHead(request, authorization(request.caller))]
  return [{ name: `${name}, header after header, by ${request.caller}`, beginning, repeated: 'a: b\r\n' }]
}

function createSlowBodies(
  target: FuzzTarget,
  requests: readonly FuzzRequest[],
  { authorization }: SlowOptions['callers'],
): readonly SlowCaller[] {
  if (!hasRequestBody(target)) return []
  // If there are fewer requests than kinds of bodies, the requests take turns.
  return Object.entries(UNFINISHED_BODIES).flatMap(([kind, build], at) => {
    const request = requests[at % requests.length]
    if (!request) return []
    const head = buildHead(request, authorization(request.caller))
    return [{ name: `${target.name}, ${kind}, by ${request.caller}`, ...build(head, Buffer.from(request.body ?? '')) }]
  })
}

export const hasRequestBody = ({ name }: Pick<FuzzTarget, 'name'>): boolean => /^(?:query|mutation|POST) /.test(name)

function sendWithoutEnd(
  { host, port }: Pick<FuzzMarket, 'host' | 'port'>,
  { beginning, repeated }: SlowCaller,
  onClose: (text: string, afterMs: number) => void,
): Socket {
  const startedAt = performance.now()
  const socket = connect(port, host)
  let text = ''
  socket.setEncoding('latin1').on('data', (part: string) => (text += part))
  socket.on('error', () => undefined)
  for (const part of beginning) socket.write(part)
  const timer = repeated === undefined ? undefined : setInterval(() => socket.write(repeated), BYTE_INTERVAL_MS)
  socket.once('close', () => {
    clearInterval(timer)
    onClose(text, performance.now() - startedAt)
  })
  return socket
}
