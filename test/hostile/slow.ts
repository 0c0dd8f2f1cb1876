import { connect, type Socket } from 'node:net'
import { until } from '@penstock/testkit/until.ts'
import type { Market } from './market.ts'

export type Slow = {
  /** Waits until every one of them was sent away. @throws where one may stay */
  ended(withinMs: number): Promise<void>
}

const BEGUN = [
  '',
  'GET /graphql HTTP/1.1\r\nhost: x\r\n',
  'POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{',
  'POST /api/lsp/v1/cheapest/create_order HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n',
]
const DRIP_MS = 500

/** Callers who send a byte now and then, in the headers or in the body, and never come to an end. */
export function openSlow({ host, port }: Market, count: number): Slow {
  const open = new Set<Socket>()
  for (let at = 0; at < count; at++) {
    const begun = BEGUN[at % BEGUN.length] ?? ''
    const socket = connect(port, host)
    open.add(socket)
    socket.on('error', () => undefined).on('data', () => undefined)
    socket.write(begun)
    const drip =
      begun === ''
        ? undefined
        : setInterval(
            () => socket.write(begun.endsWith('{\r\n') ? '1\r\n \r\n' : begun.endsWith('{') ? ' ' : 'a: b\r\n'),
            DRIP_MS,
          )
    socket.once('close', () => {
      clearInterval(drip)
      open.delete(socket)
    })
  }
  return {
    async ended(withinMs) {
      await until(`${count} slow callers are sent away`, () => open.size === 0, withinMs, 50).finally(() => {
        for (const socket of open) socket.destroy()
      })
    },
  }
}
