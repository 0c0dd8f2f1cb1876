import type { WebhookRequest } from '@penstock/ports/post-webhook.ts'
import { expect, test } from 'vitest'
import { createDemoReceiver } from './demo-receiver.ts'

const ids = { random: (bytes: number) => new Uint8Array(bytes).fill(10) }
const HOST = `demo-${'0a'.repeat(16)}.invalid`

async function callAll(close: boolean) {
  const receiver = createDemoReceiver(ids)
  const sent: string[] = []
  const guard = receiver.allowIn(async (host) => ({ allowed: false, reason: `${host} is refused` }))
  const post = receiver.attachTo(async ({ url }) => {
    sent.push(url)
    return { kind: 'failed', reason: 'nobody answers' }
  })
  if (close) receiver.close()
  const hosts = [HOST, `x.${HOST}`, '127.0.0.1', 'localhost', 'demo.invalid']
  const allowed: string[] = []
  for (const host of hosts) if ((await guard(host)).allowed) allowed.push(host)
  const requestTo = (url: string): WebhookRequest => ({ url, headers: {}, body: '{}' })
  const others = [`http://${HOST}/webhooks`, `https://${HOST}/`, 'http://127.0.0.1/webhooks']
  for (const url of others) await post(requestTo(url))
  const answer = await post(requestTo(receiver.url))
  return { allowed, sent, others, answer, url: receiver.url, received: receiver.received.map(({ url }) => url) }
}

test('the receiver of the demonstration adds its own name to a guard, and takes the requests to its URL only', async () => {
  const { allowed, sent, others, answer, url, received } = await callAll(false)
  expect(allowed).toEqual([HOST])
  expect(sent).toEqual(others)
  expect(answer).toEqual({ kind: 'answered', status: 204, retryAfterSeconds: null })
  expect(received).toEqual([url])
})

test('a closed receiver allows nothing and takes nothing', async () => {
  const { allowed, sent, others, answer, url, received } = await callAll(true)
  expect(allowed).toEqual([])
  expect(sent).toEqual([...others, url])
  expect(answer.kind).toBe('failed')
  expect(received).toEqual([])
})
