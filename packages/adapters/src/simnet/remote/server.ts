import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Lightning } from '@penstock/ports/lightning.ts'
import type { Simnet } from '../simnet.ts'
import { type Answer, type Call, callShape, CALLS, decode, encode, failure, streamShape, type StreamCall } from './wire.ts'

export type SimnetServer = { readonly url: string; close(): Promise<void> }

const MAX_BODY_BYTES = 1 << 20

/** Serves a simulated network to the processes of a cluster, in which it has to be one and the same for all. */
export async function serveSimnet(simnet: Simnet, host: string, port: number): Promise<SimnetServer> {
  const ending = new AbortController()
  const server = createServer((request, response) => void route(simnet, request, response, ending.signal))
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve))
  const { port: bound } = server.address() as AddressInfo // it listens on TCP
  return {
    url: `http://${host}:${bound}`,
    async close() {
      ending.abort()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function route(simnet: Simnet, request: IncomingMessage, response: ServerResponse, ending: AbortSignal): Promise<void> {
  try {
    if (request.url === '/healthz') return void response.end('ok')
    const body = decode(await bodyOf(request))
    if (request.url === '/call') return void response.end(encode(await carryOut(simnet, callShape.parse(body))))
    if (request.url === '/stream') return await stream(simnet, streamShape.parse(body), response, ending)
    response.writeHead(404).end()
  } catch (error) {
    if (!response.headersSent) response.writeHead(400)
    response.end(encode(failure(error)))
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk as string // the encoding is set
    if (text.length > MAX_BODY_BYTES) throw new Error('The request is too large.')
  }
  return text
}

async function carryOut(simnet: Simnet, { part, node, name, args }: Call): Promise<Answer> {
  const known: readonly string[] = CALLS[part]
  if (!known.includes(name)) return failure(new Error(`${part} has no call "${name}"`))
  try {
    const target = targetOf(simnet, part, node) as Readonly<Record<string, (...args: unknown[]) => unknown>> // the table names functions only
    return { value: await target[name]?.(...args) }
  } catch (error) {
    return failure(error)
  }
}

function targetOf(simnet: Simnet, part: Call['part'], node: string): object {
  if (part === 'chain') return simnet.chain()
  if (part === 'control') return simnet.control
  const lightning: Lightning = simnet.lightning(node)
  return part === 'node' ? lightning : lightning[part]
}

function opened(simnet: Simnet, call: StreamCall, signal: AbortSignal): AsyncIterable<unknown> {
  switch (call.stream) {
    case 'tips':
      return simnet.chain().tips(signal)
    case 'channels':
      return simnet.lightning(call.node).channels.changes(signal)
    case 'changes':
      return simnet.lightning(call.node).holds.changes(call.paymentHash, signal)
  }
}

/** One JSON value a line, until the caller goes away. */
async function stream(simnet: Simnet, call: StreamCall, response: ServerResponse, ending: AbortSignal): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const signal = AbortSignal.any([gone.signal, ending])
  const values = opened(simnet, call, signal)
  response.writeHead(200, { 'content-type': 'application/x-ndjson' }).flushHeaders()
  for await (const value of values) response.write(`${encode(value)}\n`)
  response.end()
}
