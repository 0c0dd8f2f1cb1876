import type { EnvironmentType } from '@penstock/contracts/payments/shapes.ts'
import { isoTime } from '@penstock/kernel/time.ts'
import type { Gateway } from '../../ports.ts'
import { readRecordText, type RecordReader } from '../../read-record-text.ts'
import { countWallets, type EnvironmentRow } from '../read/environments.ts'

type RecordPorts = Pick<Gateway, 'views'> & { readonly records: RecordReader }

/** Returns an environment as it is listed. */
export function toSimpleEnvironmentRecord({ views, records }: RecordPorts, row: EnvironmentRow) {
  const createdAt = isoTime(row.created_at)
  return {
    id: row.id,
    // The projection writes the types of the contract.
    type: row.type as EnvironmentType,
    name: async () => (await readRecordText(records, row.name_record, 'name')) ?? '',
    wallet_count: () => countWallets(views, row.id),
    created_at: createdAt,
    // No command changes an environment.
    updated_at: createdAt,
  }
}

/** Returns an environment with itself below `environment`. */
export function toEnvironmentRecord(gateway: RecordPorts, row: EnvironmentRow) {
  const createRecord = (): EnvironmentRecord => ({
    ...toSimpleEnvironmentRecord(gateway, row),
    environment: () => Promise.resolve(createRecord()),
    checkout_url: null,
  })
  return createRecord()
}

type EnvironmentRecord = ReturnType<typeof toSimpleEnvironmentRecord> & {
  readonly environment: () => Promise<EnvironmentRecord>
  readonly checkout_url: null
}
