import type { Ids } from '@penstock/ports/clock.ts'

const SECRET_BYTES = 32

/** A new secret of a webhook endpoint: `whsec_` and base64, the format of Standard Webhooks. It is shown once, and stored sealed. */
export const newWebhookSecret = (random: Ids['random']): string => `whsec_${Buffer.from(random(SECRET_BYTES)).toString('base64')}`
