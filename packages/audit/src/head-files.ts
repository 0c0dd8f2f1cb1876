import { createReadStream } from 'node:fs'
import { appendFile, open, readFile, rename, stat, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { AuditSummary, AuditSummaryStore } from './daily.ts'
import type { LogHeadStore } from './heads.ts'
import { openSecret, readSecret } from '@penstock/config/secret-file.ts'

const HEADS_FILE = 'audit.heads'
const KEY_FILE = 'audit.key'
const SUMMARY_FILE = 'audit.last'
const END_FILE = 'audit.end'
const NEWLINE = 0x0a
const CHUNK = 1 << 16

/** Opens the log heads of a data folder for writing: `audit.heads` and `audit.end`, signed with the key in `audit.key`. */
export async function openLogHeads(dataDir: string): Promise<LogHeadStore> {
  const key = await openSecret(dataDir, KEY_FILE)
  const path = join(dataDir, HEADS_FILE)
  // A power failure may have left an incomplete last line. It is cut off, and the head writer reads its events again.
  const { whole } = await readFileEnd(path)
  if (whole < (await sizeOf(path))) await truncate(path, whole)
  return {
    ...createHeadLog(path, key),
    append: (line) => appendFile(path, `${line}\n`, { mode: 0o600 }),
    writeEnd: (line) => replaceFile(join(dataDir, END_FILE), `${line}\n`),
  }
}

/**
 * Opens the log heads in the folder of a market.db for reading.
 * @param keyFile the path of a key that is stored elsewhere
 * @returns undefined if there are neither heads nor a key
 */
export async function readLogHeads(
  market: string,
  keyFile?: string,
): Promise<Omit<LogHeadStore, 'append' | 'writeEnd'> | undefined> {
  const path = join(dirname(market), HEADS_FILE)
  const key = await readSecret(keyFile ?? join(dirname(market), KEY_FILE))
  if (keyFile !== undefined && !key) throw new Error(`There is no audit key at ${keyFile}.`)
  return key === undefined && (await sizeOf(path)) === 0 ? undefined : createHeadLog(path, key)
}

const createHeadLog = (path: string, key: Uint8Array | undefined) => ({
  key,
  async *lines(): AsyncGenerator<string> {
    for (let start = 0; ;) {
      const { whole } = await readFileEnd(path)
      if (whole <= start) return
      yield* createInterface({ input: createReadStream(path, { start, end: whole - 1 }), crlfDelay: Infinity })
      start = whole
    }
  },
  last: async (): Promise<string | undefined> => (await readFileEnd(path)).last,
  end: async (): Promise<string | undefined> => {
    const file = join(dirname(path), END_FILE)
    return (await sizeOf(file)) === 0 ? undefined : (await readFile(file, 'utf8')).trimEnd()
  },
})

/** Stores the last audit's summary in a file of the data folder, so that alerts continue after a restart. */
export function openAuditSummary(dataDir: string): AuditSummaryStore {
  const path = join(dataDir, SUMMARY_FILE)
  return {
    read: () =>
      readFile(path, 'utf8').then(
        (text) => JSON.parse(text) as AuditSummary, // `write` below wrote it, and replaced the file atomically
        () => undefined,
      ),
    write: (audited) => replaceFile(path, `${JSON.stringify(audited)}\n`),
  }
}

/** Writes a new file and renames it, so that no reader sees half of the text. */
async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 })
  await rename(`${path}.new`, path)
}

const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  )

/** @returns the last complete line, and the number of bytes up to its end; an incomplete line may follow */
async function readFileEnd(path: string): Promise<{ readonly whole: number; readonly last: string | undefined }> {
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
