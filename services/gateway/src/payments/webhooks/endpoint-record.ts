import type { DeactivationReason } from '@penstock/contracts/payments/endpoint.ts'
import { isoTime } from '@penstock/kernel/time.ts'
import type { Gateway } from '../../ports.ts'
import { readRecordText } from '../../read-record-text.ts'
import type { EndpointRow } from './endpoint-read.ts'

const reasonTexts: Readonly<Record<DeactivationReason, string>> = {
  GONE: 'The endpoint answered with status 410.',
  FAILING: 'Every attempt of the last five days failed.',
}

/** Returns an endpoint as it is listed. */
export const toSimpleEndpointRecord = ({ records }: Pick<Gateway, 'records'>, row: EndpointRow) => ({
  id: row.id,
  environment_id: row.environment_id,
  url: async () => (await readRecordText(records, row.url_record, 'url')) ?? '',
  event_filters: JSON.parse(row.filters) as string[], // written by the projection
  active: row.active === 1,
  created_at: isoTime(row.created_at),
  updated_at: isoTime(row.updated_at),
})

/** Returns an endpoint with all of its fields, and never with its secret. */
export const toEndpointRecord = (gateway: Pick<Gateway, 'records'>, row: EndpointRow) => ({
  ...toSimpleEndpointRecord(gateway, row),
  deactivated_at: row.deactivated_at === null ? null : isoTime(row.deactivated_at),
  // The projection writes the reasons of the contract.
  deactivation_reason: row.deactivation_reason === null ? null : reasonTexts[row.deactivation_reason as DeactivationReason],
  previous_secret_valid_until: row.previous_secret_valid_until === null ? null : isoTime(row.previous_secret_valid_until),
})
