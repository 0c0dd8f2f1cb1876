import { isoTime } from '@penstock/kernel/time.ts'
import type { Gateway } from '../../ports.ts'
import type { ApiKeyRow } from '../read/accounts.ts'
import { readRecordText, type RecordReader } from '../../read-record-text.ts'

type KeyRecordPorts = Pick<Gateway, 'clock'> & { readonly records: RecordReader }

/** Returns an API key as the API shows it to its owner, without the key itself. */
export async function toApiKeyRecord({ records, clock }: KeyRecordPorts, row: ApiKeyRow) {
  return {
    id: row.id,
    name: (await readRecordText(records, row.name_record, 'name')) ?? null,
    key_prefix: row.prefix,
    key_suffix: row.suffix,
    created_at: isoTime(row.created_at),
    expires_at: row.expires_at === null ? null : isoTime(row.expires_at),
    active: row.revoked === 0 && (row.expires_at === null || row.expires_at > clock.now()),
  }
}
