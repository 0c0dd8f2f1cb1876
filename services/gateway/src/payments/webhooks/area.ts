import { endpointContract } from '@penstock/contracts/payments/endpoint.ts'
import { applyEach, type Area, readSdl } from '../../area.ts'
import { createEndpoint } from './create-endpoint.ts'
import { deleteEndpoint } from './delete-endpoint.ts'
import { getEndpoint, getEndpoints, getEventTypes } from './get-endpoints.ts'
import { getEvent, getEvents } from './get-events.ts'
import { applyToEndpoints } from './projection.ts'
import { redeliverEvent, testEndpoint } from './request-attempt.ts'
import { rotateSecret } from './rotate-secret.ts'
import { endpointMigrations } from './tables.ts'
import { updateEndpoint } from './update-endpoint.ts'

/** Webhooks: the endpoints of an environment, and the log of their deliveries. */
export const webhookArea: Area = {
  sdl: [readSdl('webhook.graphql', import.meta.url)],
  useCases: [
    getEndpoint,
    getEndpoints,
    getEventTypes,
    createEndpoint,
    updateEndpoint,
    rotateSecret,
    deleteEndpoint,
    testEndpoint,
    getEvent,
    getEvents,
    redeliverEvent,
  ],
  projections: [
    {
      name: 'webhook endpoints',
      version: 1,
      from: [endpointContract],
      tables: ['gateway_endpoints'],
      apply: applyEach(applyToEndpoints),
    },
  ],
  migrations: endpointMigrations,
}
