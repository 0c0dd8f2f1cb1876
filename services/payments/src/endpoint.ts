import type { EndpointCommand, EndpointFact } from '@penstock/contracts/payments/endpoint.ts'
import { accept, type Decider, type Decision, type Refusal } from '@penstock/kernel/decider.ts'
import { endpointNotFound } from './refusals.ts'

export type Endpoint =
  | { readonly status: 'NONE' | 'DELETED' }
  | {
      readonly status: 'ACTIVE' | 'PAUSED' | 'DEACTIVATED'
      readonly urlRecord: string
      readonly filters: readonly string[]
    }

type PresentEndpoint = Extract<Endpoint, { readonly urlRecord: string }>
type ChangeData = Extract<EndpointCommand, { readonly type: 'ChangeEndpoint' }>['data']
type DeactivationData = Extract<EndpointCommand, { readonly type: 'DeactivateEndpoint' }>['data']

/** The time for which a receiver may still hold the secret before the newest one: one day. */
const SECRET_OVERLAP_MS = 24 * 3_600_000

const isPresent = (endpoint: Endpoint): endpoint is PresentEndpoint => endpoint.status !== 'NONE' && endpoint.status !== 'DELETED'

function evolve(endpoint: Endpoint, { type, data }: EndpointFact): Endpoint {
  if (type === 'EndpointCreated') return { status: 'ACTIVE', urlRecord: data.urlRecord, filters: data.filters }
  if (type === 'EndpointDeleted') return { status: 'DELETED' }
  if (!isPresent(endpoint)) return endpoint
  switch (type) {
    case 'EndpointChanged':
      return { ...endpoint, urlRecord: data.urlRecord, filters: data.filters }
    case 'EndpointPaused':
      return { ...endpoint, status: 'PAUSED' }
    case 'EndpointResumed':
      return { ...endpoint, status: 'ACTIVE' }
    case 'EndpointDeactivated':
      return { ...endpoint, status: 'DEACTIVATED' }
    case 'SecretRotated':
    case 'RedeliveryRequested':
    case 'TestRequested':
      return endpoint
  }
}

function decide(endpoint: Endpoint, { type, at, data }: EndpointCommand): Decision<EndpointFact, Refusal<'NOT_FOUND'>> {
  if (type === 'CreateEndpoint') return endpoint.status === 'NONE' ? accept({ type: 'EndpointCreated', v: 1, data }) : accept()
  if (type === 'DeleteEndpoint' && endpoint.status === 'DELETED') return accept()
  if (!isPresent(endpoint)) return endpointNotFound
  switch (type) {
    case 'ChangeEndpoint':
      return accept(...changeEndpoint(endpoint, data))
    case 'RotateSecret':
      return accept({ type: 'SecretRotated', v: 1, data: { ...data, previousValidUntil: at + SECRET_OVERLAP_MS } })
    case 'RequestRedelivery':
      return accept({ type: 'RedeliveryRequested', v: 1, data })
    case 'RequestTest':
      return accept({ type: 'TestRequested', v: 1, data })
    case 'DeactivateEndpoint':
      return accept(...deactivateEndpoint(endpoint, data))
    case 'DeleteEndpoint':
      return accept({ type: 'EndpointDeleted', v: 1, data })
  }
}

function changeEndpoint(endpoint: PresentEndpoint, { active, ...given }: ChangeData): readonly EndpointFact[] {
  const { urlRecord, filters } = { urlRecord: given.urlRecord ?? endpoint.urlRecord, filters: given.filters ?? endpoint.filters }
  const isSame = urlRecord === endpoint.urlRecord && filters.join() === endpoint.filters.join()
  const changed = isSame ? [] : [{ type: 'EndpointChanged', v: 1, data: { urlRecord, filters: [...filters] } } as EndpointFact]
  if (active === true && endpoint.status !== 'ACTIVE') return [...changed, { type: 'EndpointResumed', v: 1, data: {} }]
  if (active === false && endpoint.status === 'ACTIVE') return [...changed, { type: 'EndpointPaused', v: 1, data: {} }]
  return changed
}

function deactivateEndpoint(endpoint: PresentEndpoint, { urlRecord, ...data }: DeactivationData): readonly EndpointFact[] {
  const isSameUrl = urlRecord === null || urlRecord === endpoint.urlRecord
  if (endpoint.status !== 'ACTIVE' || !isSameUrl) return []
  return [{ type: 'EndpointDeactivated', v: 1, data }]
}

/** The sealed secret and the URL are in the side table, so no fact shows them. */
export const endpointDecider: Decider<Endpoint, EndpointCommand, EndpointFact, Refusal<'NOT_FOUND'>> = {
  initial: { status: 'NONE' },
  evolve,
  decide,
}
