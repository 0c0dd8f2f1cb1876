import { createReadStream } from 'node:fs'
import { appendFile, open, readFile, rename, stat, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Audited, LastAudit } from '@penstock/runtime/audit-daily.ts'
import type { HeadLog } from '@penstock/runtime/audit-heads.ts'
import { openSecret, readSecret } from '@penstock/runtime/secret-file.ts'

const HEADS = 'audit.heads'
const KEY = 'audit.key'
const LAST = 'audit.last'
const END = 'audit.end'
const NEWLINE = 0x0a
const CHUNK = 1 << 16

/** The log heads of a data folder, to be continued: the files `audit.heads` and `audit.end`, signed with the file `audit.key`. */
export async function openHeads(dataDir: string): Promise<HeadLog> {
  const key = await openSecret(dataDir, KEY)
  const path = join(dataDir, HEADS)
  // A power cut may have left half a line: its events are read again.
  const { whole } = await endOf(path)
  if (whole < (await sizeOf(path))) await truncate(path, whole)
  return {
    ...headLog(path, key),
    append: (line) => appendFile(path, `${line}\n`, { mode: 0o600 }),
    writeEnd: (line) => replaceFile(join(dataDir, END), `${line}\n`),
  }
}

/**
 * The heads beside a market.db, to be compared with.
 * @param keyFile where the key is kept elsewhere
 * @returns undefined where neither heads nor a key were ever made
 */
export async function readHeads(market: string, keyFile?: string): Promise<Omit<HeadLog, 'append' | 'writeEnd'> | undefined> {
  const path = join(dirname(market), HEADS)
  const key = await readSecret(keyFile ?? join(dirname(market), KEY))
  if (keyFile !== undefined && !key) throw new Error(`There is no audit key at ${keyFile}.`)
  return key === undefined && (await sizeOf(path)) === 0 ? undefined : headLog(path, key)
}

const headLog = (path: string, key: Uint8Array | undefined) => ({
  key,
  async *lines(): AsyncGenerator<string> {
    for (let start = 0; ;) {
      const { whole } = await endOf(path)
      if (whole <= start) return
      yield* createInterface({ input: createReadStream(path, { start, end: whole - 1 }), crlfDelay: Infinity })
      start = whole
    }
  },
  last: async (): Promise<string | undefined> => (await endOf(path)).last,
  end: async (): Promise<string | undefined> => {
    const file = join(dirname(path), END)
    return (await sizeOf(file)) === 0 ? undefined : (await readFile(file, 'utf8')).trimEnd()
  },
})

/** What the last audit found, in a file of the data folder: alerts go on over a restart. */
export function lastAudit(dataDir: string): LastAudit {
  const path = join(dataDir, LAST)
  return {
    read: () =>
      readFile(path, 'utf8').then(
        (text) => JSON.parse(text) as Audited, // written below, and put in its place as a whole
        () => undefined,
      ),
    write: (audited) => replaceFile(path, `${JSON.stringify(audited)}\n`),
  }
}

/** Nobody reads half of it. */
async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 })
  await rename(`${path}.new`, path)
}

const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  )

/** The length of the file up to its last line's end, and that line. What follows is half a line, or nothing. */
async function endOf(path: string): Promise<{ readonly whole: number; readonly last: string | undefined }> {
  const size = await sizeOf(path)
  const file = size === 0 ? undefined : await open(path)
  try {
    let tail = Buffer.alloc(0)
    for (let from = size; file && from > 0;) {
      const length = Math.min(CHUNK, from)
      from -= length
      const { buffer } = await file.read(Buffer.alloc(length), 0, length, from)
      tail = Buffer.concat([buffer, tail])
      const end = tail.lastIndexOf(NEWLINE)
      const start = end < 1 ? -1 : tail.lastIndexOf(NEWLINE, end - 1)
      if (start >= 0 || (from === 0 && end >= 0)) return { whole: from + end + 1, last: tail.toString('utf8', start + 1, end) }
    }
    return { whole: 0, last: undefined }
  } finally {
    await file?.close()
  }
}
