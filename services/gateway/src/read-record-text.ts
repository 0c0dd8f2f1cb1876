/** Reads a text of a person's record. @returns undefined if the record was deleted */
export async function readRecordText(
  records: { get(id: string): Promise<{ readonly json: string } | undefined> },
  id: string | null,
  field: string,
): Promise<string | undefined> {
  const record = id === null ? undefined : await records.get(id)
  const values = record && (JSON.parse(record.json) as Record<string, unknown>) // the gateway writes records as JSON objects
  const value = values?.[field]
  return typeof value === 'string' ? value : undefined
}
