import type { GuardedAgent } from '@penstock/outbound/guarded-agent.ts'
import { signDelivery, toSigningKeys } from '@penstock/payments/webhooks/sign.ts'
import type { WebhookRequest } from '@penstock/ports/post-webhook.ts'
import { measureThroughput } from '../callers.ts'
import { createBody, post, SECRET } from './stored-deliveries.ts'

const CALLS_AT_ONCE = 64
const BODY = createBody(0)
const KEYS = toSigningKeys(SECRET)

/** Signs and sends requests to the URLs in turn, and stores nothing. @returns requests per second */
export function measurePosts(agent: GuardedAgent, urls: readonly string[], count: number): Promise<number> {
  let n = 0
  return measureThroughput(CALLS_AT_ONCE, count, async () => {
    const answer = await post(agent, signRequest(urls[n % urls.length] ?? '', n++))
    if (answer.kind !== 'answered') throw new Error(`the receiver did not answer: ${answer.reason}`)
  })
}

function signRequest(url: string, n: number): WebhookRequest {
  const headers = signDelivery({
    keys: [KEYS],
    envelopeId: `payment.completed:${n}`,
    eventType: 'payment.completed',
    timestampSeconds: Math.floor(Date.now() / 1000),
    body: BODY,
  })
  return { url, headers, body: BODY }
}
