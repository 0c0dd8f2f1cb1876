import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { WebSocket } from 'ws'
import { systemClock } from '../system/clock.ts'
import { type RpcResponse, RESPONSE_TIMEOUT_MS, type RpcCall } from './rpc-call.ts'
import { readRpcCredentials, toAuthFault, type RpcAddress } from './rpc-credentials.ts'

type RpcTransport = (call: RpcCall) => Promise<RpcResponse>

/** Timeout of the closing handshake. A peer that has begun to close the connection sends no more answers. */
const CLOSE_TIMEOUT_MS = 500

/**
 * Sends all calls over one WebSocket connection, which only btcd offers. btcd ends each HTTP connection after one answer, so a
 * busy HTTP client spends most time on handshakes. The next call reopens an ended connection. A process uses one transport and
 * never closes it. The transport does not keep the process running.
 */
export function createWebSocketTransport(address: RpcAddress, clock: Clock = systemClock): RpcTransport {
  let connection: Promise<RpcTransport> | undefined

  function open(): Promise<RpcTransport> {
    const onClose = (): void => {
      if (connection === attempt) connection = undefined
    }
    const attempt = connect(address, clock, onClose)
    attempt.catch(onClose)
    return attempt
  }

  return async (call) => {
    connection ??= open()
    const send = await connection
    return send(call)
  }
}

/** @param onClose is called when the connection has closed. @throws Fault if no connection opens */
async function connect(address: RpcAddress, clock: Clock, onClose: () => void): Promise<RpcTransport> {
  const { protocol, host, pathname } = new URL(address.url)
  // A restarted node may have written new credentials.
  const { auth, secureContext } = await readRpcCredentials(address)
  const options = {
    auth,
    handshakeTimeout: RESPONSE_TIMEOUT_MS,
    // The types of `ws` lack this option.
    closeTimeout: CLOSE_TIMEOUT_MS,
    perMessageDeflate: false,
    ...(secureContext && { secureContext }),
  }
  const socket = new WebSocket(`${protocol}//${host}${pathname}`, options)
  socket.on('close', onClose)
  await waitForOpen(socket)
  return createSender(socket, clock)
}

function waitForOpen(socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(new Fault(`the bitcoin node does not answer: ${error.message}`, { cause: error }))
    // An idle connection must not keep the process running.
    socket.on('upgrade', (response) => void response.socket.unref())
    socket.on('open', resolve)
    socket.on('error', (error) => {
      fail(error)
      // An error on an open socket means an unreadable message. No later answer can be trusted.
      socket.terminate()
    })
    socket.on('unexpected-response', (request, { statusCode }) => {
      request.destroy()
      const message = `the bitcoin node has no WebSocket there: it answers with HTTP ${statusCode}; only btcd has one, at /ws`
      reject(toAuthFault(statusCode) ?? new Fault(message))
    })
  })
}

type PendingCall = {
  readonly resolve: (answer: RpcResponse) => void
  readonly reject: (error: unknown) => void
  readonly ended: AbortController
}

function createSender(socket: WebSocket, clock: Clock): RpcTransport {
  const pending = new Map<number, PendingCall>()
  let [lastId, messageCount] = [0, 0]
  const takePending = (id: number): PendingCall | undefined => {
    const call = pending.get(id)
    pending.delete(id)
    // The default abort reason would capture a stack.
    call?.ended.abort('ended')
    return call
  }
  socket.on('message', (data) => {
    messageCount += 1
    const answer = parseResponse((data as Buffer).toString()) // `ws` delivers whole messages as buffers by default
    if (answer) takePending(answer.id)?.resolve(answer)
    // An answer with invalid JSON has no id, so its pending call is unknown.
    else socket.terminate()
  })
  socket.on('close', () => {
    const ended = 'the bitcoin node does not answer: it has ended the connection'
    for (const id of pending.keys()) takePending(id)?.reject(new Fault(ended))
  })
  return ({ method, params }) =>
    new Promise((resolve, reject) => {
      const id = ++lastId
      const countAtSend = messageCount
      const ended = new AbortController()
      void clock.sleep(RESPONSE_TIMEOUT_MS, ended.signal).then(() => {
        if (ended.signal.aborted) return
        takePending(id)?.reject(new Fault(`the bitcoin node did not answer within ${RESPONSE_TIMEOUT_MS} ms`))
        // No message has arrived since this call was sent, so the connection hangs for the other calls too.
        if (messageCount === countAtSend) socket.terminate()
      })
      pending.set(id, { resolve, reject, ended })
      socket.send(JSON.stringify({ jsonrpc: '1.0', id, method, params }), (error) => {
        if (error) takePending(id)?.reject(new Fault(`sending to the bitcoin node failed: ${error.message}`, { cause: error }))
      })
    })
}

/** @returns undefined for text that is not JSON. A notification from the node has no id */
function parseResponse(text: string): (RpcResponse & { readonly id: number }) | undefined {
  try {
    return JSON.parse(text) as RpcResponse & { readonly id: number } // JSON-RPC's own form
  } catch {
    return undefined
  }
}
