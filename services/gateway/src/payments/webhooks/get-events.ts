import type { EventQuery, LoggedEvent } from '@penstock/ports/deliveries.ts'
import { invalidInput } from '../../errors.ts'
import type {
  ListWebhookEventsInput,
  WebhookEventQueriesFindManyArgs,
  WebhookEventQueriesFindOneArgs,
} from '../../generated/schema-types.ts'
import { isGiven, parseId, parseTimeField } from '../../input.ts'
import { describeList, parsePage } from '../../list-page.ts'
import type { Gateway } from '../../ports.ts'
import { query } from '../../use-case.ts'
import { type PaymentsCaller, permitted, seesContent } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import { findEnvironment, requireOwnEnvironment } from '../read/environments.ts'
import { toEventRecord, toSimpleEventRecords } from './event-record.ts'

const access = permitted('WEBHOOKS', 'READ')

/** Whether a text may be the id or the type of an event. The database must not get others: PostgreSQL refuses U+0000. */
const isEventText = (text: string): boolean => /^[\w.:-]{1,100}$/.test(text)

export const getEvent = query({
  path: 'payment.webhook_event.find_one',
  limit: paymentsLimit,
  access,
  input: ({ id }: WebhookEventQueriesFindOneArgs) => id,
  run: async (id, { gateway, caller }) => toEventRecord(gateway, await requireEvent(gateway, caller, id)),
})

export const getEvents = query({
  path: 'payment.webhook_event.find_many',
  limit: paymentsLimit,
  access,
  input: ({ input }: WebhookEventQueriesFindManyArgs) => ({ filter: parseFilter(input), page: parsePage(input.page) }),
  run: async ({ filter, page }, { gateway, caller }) => {
    await requireOwnEnvironment(gateway.views, caller, filter.environmentId)
    const walletOfKey = caller.key?.walletId ?? undefined
    const isForeignWallet = walletOfKey !== undefined && filter.walletId !== undefined && filter.walletId !== walletOfKey
    if (isForeignWallet) throw invalidInput('Wallet not found')
    const visible = walletOfKey === undefined ? filter : { ...filter, walletId: walletOfKey }
    const hasNone = visible.type !== undefined && !isEventText(visible.type)
    const { totalCount, events } = hasNone ? noEvents : await gateway.deliveryLog.listEvents({ ...visible, ...page })
    return {
      ...describeList('payment.webhook_event.find_many', page, visible),
      total_count: totalCount,
      list: toSimpleEventRecords(gateway, events),
    }
  },
})

const noEvents = { totalCount: 0, events: [] }

/** Finds an event by its id or the id in its body. @throws the error for an unknown event if the caller does not see it */
export async function requireEvent({ views, deliveryLog }: Gateway, caller: PaymentsCaller, id: string): Promise<LoggedEvent> {
  const event = isEventText(id) ? await deliveryLog.findEvent(id) : undefined
  const environment = event && (await findEnvironment(views, event.environmentId))
  const walletOfKey = caller.key?.walletId ?? null
  const isVisible = environment && seesContent(caller, environment) && (walletOfKey === null || walletOfKey === event?.walletId)
  if (!event || !isVisible) throw invalidInput('Webhook event not found')
  return event
}

function parseFilter({ environment_id, filter }: ListWebhookEventsInput): Omit<EventQuery, 'limit' | 'offset'> {
  const { from, to } = filter?.date_range ?? {}
  return {
    environmentId: parseId(environment_id),
    ...(isGiven(filter?.wallet_id) && { walletId: parseId(filter.wallet_id) }),
    ...(isGiven(filter?.endpoint_id) && { endpointId: parseId(filter.endpoint_id) }),
    ...(isGiven(filter?.transaction_id) && { transactionId: parseId(filter.transaction_id) }),
    ...(isGiven(filter?.event_type) && { type: filter.event_type }),
    ...(isGiven(from) && { from: parseTimeField(from, 'filter.date_range.from') }),
    ...(isGiven(to) && { to: parseTimeField(to, 'filter.date_range.to') }),
  }
}
