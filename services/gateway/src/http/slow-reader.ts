import type { RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** No usual client sends this many requests before it has read an answer. */
const MAX_PENDING_REQUESTS = 256

type RequestQueue = { readonly last: ServerResponse; waiting: number }

/**
 * Bounds the memory that one connection can occupy. It handles the connection's requests one at a time, because one packet can
 * contain a thousand small requests. It closes a connection whose caller reads nothing of an answer for `timeoutMs`. The time
 * to the first byte is not limited here.
 */
export function limitSlowReaders(server: Server, app: RequestListener, timeoutMs: number): void {
  const queues = new WeakMap<Socket, RequestQueue>()
  server.on('request', (request, response) => {
    const { socket } = request
    // An earlier request of the same packet exceeded the limit.
    if (socket.destroyed) return
    const previous = queues.get(socket)
    const waiting = previous?.waiting ?? 0
    if (waiting >= MAX_PENDING_REQUESTS) return void socket.destroy()
    const queue = { last: response, waiting: waiting + 1 }
    queues.set(socket, queue)
    response.once('close', () => dequeue(queues, socket))
    if (!previous || waiting === 0) return app(request, response)
    previous.last.once('close', () => socket.destroyed || app(request, response))
  })
  // Node emits 'timeout' only if no byte was transferred for `timeoutMs`, even during one long write.
  server.timeout = timeoutMs
  server.on('timeout', (socket: Socket) => {
    const isIdle = (queues.get(socket)?.waiting ?? 0) === 0
    if (isIdle || socket.writableLength > 0) socket.destroy()
  })
}

function dequeue(queues: WeakMap<Socket, RequestQueue>, socket: Socket): void {
  const queue = queues.get(socket)
  if (queue) queue.waiting -= 1
}
