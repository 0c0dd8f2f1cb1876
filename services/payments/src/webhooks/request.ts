import type { EndpointUrl } from '@penstock/contracts/payments/texts.ts'
import { Bug } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Attempt, DueEndpoint } from '@penstock/ports/deliveries.ts'
import type { WebhookRequest } from '@penstock/ports/post-webhook.ts'
import { LRUCache } from 'lru-cache'
import type { WebhookPorts } from './ports.ts'
import { signDelivery, type SigningKeys, toSigningKeys } from './sign.ts'

type RequestPorts = Pick<WebhookPorts, 'records' | 'opener'> & { readonly clock: Clock }

/** The kind of the record with a sealed secret, to which the seal is bound. */
const SECRET_KIND = 'webhook-secret'
/** URLs and keys of so many records stay in memory. A record never changes: a new value gets a new record. */
const MAX_CACHED = 2000

/**
 * Creates a function that makes the signed request of an attempt; undefined if its records are missing. They vanish with their
 * endpoint, or after a change that the queue has not seen yet.
 */
export function createRequestMaker({ records, opener, clock }: RequestPorts) {
  const urls = new LRUCache<string, string>({ max: MAX_CACHED })
  const keys = new LRUCache<string, SigningKeys>({ max: MAX_CACHED })

  async function readUrl(record: string): Promise<string | undefined> {
    const cached = urls.get(record)
    if (cached !== undefined) return cached
    const stored = await records.get(record)
    if (!stored) return undefined
    const { url } = parseUrl(record, stored.json)
    urls.set(record, url)
    return url
  }

  async function openKeys(record: string): Promise<SigningKeys | undefined> {
    const cached = keys.get(record)
    if (cached !== undefined) return cached
    const stored = await records.get(record)
    if (!stored) return undefined
    const opened = toSigningKeys(await opener.open(record, SECRET_KIND, stored.json))
    keys.set(record, opened)
    return opened
  }

  return async ({ event }: Attempt, endpoint: DueEndpoint): Promise<WebhookRequest | undefined> => {
    const now = clock.now()
    const valid = endpoint.secrets.filter(({ validUntil }) => validUntil === null || validUntil > now)
    const url = await readUrl(endpoint.urlRecord)
    const [newest, ...older] = (await Promise.all(valid.map(({ record }) => openKeys(record)))).filter(
      (opened) => opened !== undefined,
    )
    if (url === undefined || newest === undefined) return undefined
    const headers = signDelivery({
      keys: [newest, ...older],
      envelopeId: event.envelopeId,
      eventType: event.type,
      timestampSeconds: Math.floor(now / 1000),
      body: event.body,
    })
    return { url, headers, body: event.body }
  }
}

function parseUrl(record: string, json: string): EndpointUrl {
  try {
    return JSON.parse(json) as EndpointUrl // the gateway wrote the record in this shape
  } catch {
    throw new Bug(`the URL ${record} is damaged`) // The error of the parser would contain a part of the URL.
  }
}
