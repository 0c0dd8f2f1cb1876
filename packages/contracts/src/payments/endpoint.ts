import { z } from 'zod'
import { type CommandsOf, defineContract, type FactsOf, type TargetOf, v1, v2 } from '../define.ts'
import { instant, noData, uuid } from '../shapes.ts'
import { transactionEventTypes } from './lifecycle.ts'

/** The event types that the endpoint takes; an empty list for all of them. */
const filters = z.array(z.enum(transactionEventTypes)).max(transactionEventTypes.length)

const httpStatus = z.int().min(100).max(599).nullable()

/** The reason why the service switched an endpoint off: it answered 410, or it failed for five days. */
export const deactivationReason = z.enum(['GONE', 'FAILING'])
export type DeactivationReason = z.output<typeof deactivationReason>

/** `urlRecord` and `secretRecord`: the ids of the URL and of the sealed secret in the side table. */
const endpoint = z.strictObject({ environmentId: uuid, teamId: uuid, urlRecord: uuid, secretRecord: uuid, filters })

/** `attemptId`: the id under which the one attempt is shown. */
const attemptRequest = z.strictObject({ eventId: uuid, attemptId: uuid })
const deactivation = z.strictObject({ reason: deactivationReason, since: instant, httpStatus })

/** The URL of a team that hears of the events of one environment. */
export const endpointContract = defineContract('endpoint', 'payments', {
  facts: {
    EndpointCreated: v1(endpoint),
    EndpointChanged: v1(endpoint.pick({ urlRecord: true, filters: true })),
    EndpointPaused: v1(noData),
    EndpointResumed: v1(noData),
    /** The secret before this one stays valid until `previousValidUntil`. */
    SecretRotated: v1(z.strictObject({ secretRecord: uuid, previousValidUntil: instant })),
    EndpointDeactivated: v1(deactivation),
    /** One more attempt to deliver an event. */
    RedeliveryRequested: v1(attemptRequest),
    /** One attempt to deliver a `webhook.test`. */
    TestRequested: v1(attemptRequest),
    EndpointDeleted: v1(noData),
  },
  commands: {
    CreateEndpoint: { ...v1(endpoint), from: ['gateway'] },
    /** Null leaves a value as it is. */
    ChangeEndpoint: {
      ...v1(z.strictObject({ urlRecord: uuid.nullable(), filters: filters.nullable(), active: z.boolean().nullable() })),
      from: ['gateway'],
    },
    RotateSecret: { ...v1(z.strictObject({ secretRecord: uuid })), from: ['gateway'] },
    RequestRedelivery: { ...v1(attemptRequest), from: ['gateway'] },
    RequestTest: { ...v1(attemptRequest), from: ['gateway'] },
    /** `urlRecord`: the URL that was called; the command has no effect if the endpoint has another one. Null matches any. */
    DeactivateEndpoint: v2(deactivation.extend({ urlRecord: uuid.nullable() }), (old: z.output<typeof deactivation>) => ({
      ...old,
      urlRecord: null,
    })),
    DeleteEndpoint: { ...v1(noData), from: ['gateway'] },
  },
  records: {
    CreateEndpoint: ['EndpointCreated'],
    ChangeEndpoint: ['EndpointChanged', 'EndpointPaused', 'EndpointResumed'],
    RotateSecret: ['SecretRotated'],
    RequestRedelivery: ['RedeliveryRequested'],
    RequestTest: ['TestRequested'],
    DeactivateEndpoint: ['EndpointDeactivated'],
    DeleteEndpoint: ['EndpointDeleted'],
  },
})
export type EndpointFact = FactsOf<typeof endpointContract>
export type EndpointCommand = CommandsOf<typeof endpointContract>
export type EndpointTarget = TargetOf<typeof endpointContract>
