import { createHash } from 'node:crypto'
import type { Gateway } from './ports.ts'

/** Stores a person's text outside the facts, so that it can be deleted. A fact contains only its id and a salted hash. */
export async function storeText(
  { records, ids, clock }: Gateway,
  kind: string,
  texts: object,
): Promise<{ id: string; hash: string }> {
  const id = ids.uuid()
  const json = JSON.stringify({ ...texts, salt: Buffer.from(ids.random(16)).toString('hex') })
  await records.put(id, kind, json, clock.now())
  return { id, hash: createHash('sha256').update(json).digest('hex') }
}
