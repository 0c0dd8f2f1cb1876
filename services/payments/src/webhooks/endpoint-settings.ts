import type { EndpointFact } from '@penstock/contracts/payments/endpoint.ts'
import type { WebhookEndpointSettings } from '@penstock/ports/deliveries.ts'

/** The most secrets that sign an attempt, so that its signatures take at most half a kilobyte. More rotations cut overlaps short. */
const MAX_SECRETS = 10

/** Applies a fact to the settings of an endpoint; undefined before its creation and after its deletion. */
export function evolveSettings(
  settings: WebhookEndpointSettings | undefined,
  { id, at, fact: { type, data } }: { readonly id: string; readonly at: number; readonly fact: EndpointFact },
): WebhookEndpointSettings | undefined {
  if (type === 'EndpointCreated') {
    const { environmentId, urlRecord, secretRecord, filters } = data
    return { id, environmentId, urlRecord, secrets: [{ record: secretRecord, validUntil: null }], filters, active: true }
  }
  if (!settings) return undefined
  switch (type) {
    case 'EndpointChanged':
      return { ...settings, urlRecord: data.urlRecord, filters: data.filters }
    case 'EndpointPaused':
    case 'EndpointDeactivated':
      return { ...settings, active: false }
    case 'EndpointResumed':
      return { ...settings, active: true }
    case 'SecretRotated': {
      const previous = settings.secrets
        .filter(({ validUntil }) => validUntil === null || validUntil > at)
        .map(({ record, validUntil }) => ({ record, validUntil: validUntil ?? data.previousValidUntil }))
      return { ...settings, secrets: [{ record: data.secretRecord, validUntil: null }, ...previous].slice(0, MAX_SECRETS) }
    }
    case 'RedeliveryRequested':
    case 'TestRequested':
      return settings
    case 'EndpointDeleted':
      return undefined
  }
}
