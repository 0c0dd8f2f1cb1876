import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Lightning } from '@penstock/ports/lightning.ts'
import type { Simnet } from '../simnet.ts'
import {
  type RemoteResponse,
  type RemoteCall,
  remoteCallSchema,
  REMOTE_CALLS,
  decode,
  encode,
  toErrorResponse,
  streamCallSchema,
  type StreamCall,
} from './wire.ts'

export type SimnetServer = { readonly url: string; close(): Promise<void> }

const MAX_BODY_BYTES = 1 << 20

/** Serves a simulated network to the processes of a cluster, which all have to use the same network. */
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
    const body = decode(await readBody(request))
    if (request.url === '/call') return void response.end(encode(await executeCall(simnet, remoteCallSchema.parse(body))))
    if (request.url === '/stream') return await writeStream(simnet, streamCallSchema.parse(body), response, ending)
    response.writeHead(404).end()
  } catch (error) {
    if (!response.headersSent) response.writeHead(400)
    response.end(encode(toErrorResponse(error)))
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk as string // the encoding is set
    if (text.length > MAX_BODY_BYTES) throw new Error('The request is too large.')
  }
  return text
}

async function executeCall(simnet: Simnet, { part, node, name, args }: RemoteCall): Promise<RemoteResponse> {
  const known: readonly string[] = REMOTE_CALLS[part]
  if (!known.includes(name)) return toErrorResponse(new Error(`${part} has no call "${name}"`))
  try {
    const target = selectTarget(simnet, part, node) as Readonly<Record<string, (...args: unknown[]) => unknown>> // the table names functions only
    return { value: await target[name]?.(...args) }
  } catch (error) {
    return toErrorResponse(error)
  }
}

function selectTarget(simnet: Simnet, part: RemoteCall['part'], node: string): object {
  if (part === 'chain') return simnet.chain()
  if (part === 'control') return simnet.control
  const lightning: Lightning = simnet.lightning(node)
  return part === 'node' ? lightning : lightning[part]
}

function openStream(simnet: Simnet, call: StreamCall, signal: AbortSignal): AsyncIterable<unknown> {
  switch (call.stream) {
    case 'tips':
      return simnet.chain().tips(signal)
    case 'channels':
      return simnet.lightning(call.node).channels.changes(signal)
    case 'changes':
      return simnet.lightning(call.node).holds.changes(call.paymentHash, signal)
  }
}

/** Writes one JSON value per line until the caller disconnects. */
async function writeStream(simnet: Simnet, call: StreamCall, response: ServerResponse, ending: AbortSignal): Promise<void> {
  const closed = new AbortController()
  response.once('close', () => closed.abort())
  const signal = AbortSignal.any([closed.signal, ending])
  const values = openStream(simnet, call, signal)
  response.writeHead(200, { 'content-type': 'application/x-ndjson' }).flushHeaders()
  for await (const value of values) response.write(`${encode(value)}\n`)
  response.end()
}
