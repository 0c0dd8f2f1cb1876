import type { RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** More requests than any client sends before it has read an answer. */
const MOST_WAITING = 256

type Queue = { readonly last: ServerResponse; waiting: number }

/**
 * Bounds what a connection can make the process keep: takes its requests one after the other, as their answers leave, and
 * cuts off who takes nothing of an answer for so many milliseconds. A packet holds a thousand small requests; answered at
 * once, all of their answers would wait for a caller who reads none. How long an answer takes to begin is nothing to it.
 */
export function mindUnread(server: Server, app: RequestListener, unreadTimeout: number): void {
  const queues = new WeakMap<Socket, Queue>()
  server.on('request', (request, response) => {
    const { socket } = request
    // The rest of the packet in which one was too many.
    if (socket.destroyed) return
    const before = queues.get(socket)
    const waiting = before?.waiting ?? 0
    if (waiting >= MOST_WAITING) return void socket.destroy()
    const queue = { last: response, waiting: waiting + 1 }
    queues.set(socket, queue)
    response.once('close', () => leave(queues, socket))
    if (!before || waiting === 0) return app(request, response)
    before.last.once('close', () => socket.destroyed || app(request, response))
  })
  // Node looks whether something moves meanwhile, also within one long write.
  server.timeout = unreadTimeout
  server.on('timeout', (socket: Socket) => {
    const isIdle = (queues.get(socket)?.waiting ?? 0) === 0
    if (isIdle || socket.writableLength > 0) socket.destroy()
  })
}

function leave(queues: WeakMap<Socket, Queue>, socket: Socket): void {
  const queue = queues.get(socket)
  if (queue) queue.waiting -= 1
}
