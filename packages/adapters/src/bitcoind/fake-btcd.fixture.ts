import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'

type RpcRequest = { readonly id: number; readonly method: string; readonly params: readonly unknown[] }

/** A node with a WebSocket server. Each test sets how the node answers a call. */
export class FakeBtcd {
  readonly asked: RpcRequest[] = []
  readonly sockets: WebSocket[] = []
  readonly #server = createServer((_, response) => response.writeHead(405).end())
  readonly #upgrades = new WebSocketServer({ noServer: true })
  answer: (asked: RpcRequest, socket: WebSocket) => void = ({ id, method }, socket) =>
    socket.send(JSON.stringify({ id, result: method, error: null }))

  async listen(): Promise<void> {
    this.#server.on('upgrade', (request: IncomingMessage, stream, head) => {
      const isKnown = request.headers.authorization === `Basic ${Buffer.from('us:secret').toString('base64')}`
      if (!isKnown) return stream.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n')
      this.#upgrades.handleUpgrade(request, stream, head, (socket) => {
        this.sockets.push(socket)
        socket.on('message', (text: Buffer) => {
          const asked = JSON.parse(text.toString()) as RpcRequest
          this.asked.push(asked)
          this.answer(asked, socket)
        })
      })
    })
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }
  url(user = 'us:secret'): string {
    return `ws://${user}@127.0.0.1:${(this.#server.address() as AddressInfo).port}/ws`
  }
  async close(): Promise<void> {
    for (const socket of this.sockets) socket.terminate()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
