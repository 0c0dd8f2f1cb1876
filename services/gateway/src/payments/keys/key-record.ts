import { isoTime } from '@penstock/kernel/time.ts'
import type { Gateway } from '../../ports.ts'
import { readRecordText, type RecordReader } from '../../read-record-text.ts'
import { isOpen, readPermissions, type ServiceKeyRow } from './read.ts'

type KeyRecordPorts = Pick<Gateway, 'clock'> & { readonly records: RecordReader }

/** Returns a key as the API shows it to its team, without the key itself. */
export const toServiceKeyRecord = ({ records, clock }: KeyRecordPorts, row: ServiceKeyRow) => ({
  id: row.id,
  name: async () => (await readRecordText(records, row.name_record, 'name')) ?? '',
  key_prefix: row.prefix,
  key_suffix: row.suffix,
  active: isOpen(row, clock.now()),
  last_used_at: row.last_used_at === null ? null : isoTime(row.last_used_at),
  expires_at: row.expires_at === null ? null : isoTime(row.expires_at),
  environment_id: row.environment_id,
  wallet_id: row.wallet_id,
  node_id: row.node_id,
  permissions: readPermissions(row).map(({ resource, level }) => ({ id: `${row.id}/${resource}`, resource, level })),
  created_at: isoTime(row.created_at),
})
