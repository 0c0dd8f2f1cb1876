import type { Records, StoredRecord } from '@penstock/ports/records.ts'

export type RecordReader = Pick<Records, 'get'>

/** Reads the records of all rows of a list in one query, once the first of their texts is requested. */
export function readTogether<Row>(
  records: Pick<Records, 'getMany'>,
  rows: readonly Row[],
  recordIdOf: (row: Row) => string | null,
): RecordReader {
  let found: Promise<ReadonlyMap<string, StoredRecord>> | undefined
  return {
    get: async (id) => {
      found ??= records.getMany(rows.map(recordIdOf).filter((recordId) => recordId !== null))
      return (await found).get(id)
    },
  }
}

/** Reads a text of a person's record. @returns undefined if the record was deleted */
export async function readRecordText(records: RecordReader, id: string | null, field: string): Promise<string | undefined> {
  const record = id === null ? undefined : await records.get(id)
  const values = record && (JSON.parse(record.json) as Record<string, unknown>) // the gateway writes records as JSON objects
  const value = values?.[field]
  return typeof value === 'string' ? value : undefined
}
