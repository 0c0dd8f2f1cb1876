import { open, readFile } from 'node:fs/promises'

type Rpc = <T>(method: string, ...params: readonly unknown[]) => Promise<T>
type ArchivedBlock = { readonly hash: string; readonly raw: string }

/** Btcd starts with an empty regtest chain every time, so this archive stores its blocks in a file. */
export type BlockArchive = {
  /** Appends the chain's new blocks to the file. */
  readonly save: () => Promise<void>
  /** Submits all archived blocks to a new chain, including those of stale branches. */
  readonly replay: () => Promise<void>
}

/** @param file has one block per line, parents first */
export function createBlockArchive(file: string, rpc: Rpc): BlockArchive {
  let written: { readonly hashes: Set<string>; length: number } | undefined
  async function loadWritten() {
    if (written) return written
    const lines = await readWholeLines(file)
    const hashes = new Set([await rpc<string>('getblockhash', 0), ...parseBlocks(lines).map(({ hash }) => hash)])
    return (written = { hashes, length: lines.length })
  }
  return {
    async save() {
      const archived = await loadWritten()
      const newBlocks: ArchivedBlock[] = []
      for (let hash = await rpc<string>('getbestblockhash'); !archived.hashes.has(hash);) {
        newBlocks.push({ hash, raw: await rpc<string>('getblock', hash, 0) })
        hash = (await rpc<{ previousblockhash: string }>('getblockheader', hash, true)).previousblockhash
      }
      if (newBlocks.length === 0) return
      const lines = newBlocks.reverse().map(({ hash, raw }) => `${hash} ${raw}\n`)
      archived.length = await truncateAndAppend(file, archived.length, lines.join(''))
      for (const { hash } of newBlocks) archived.hashes.add(hash)
    },
    async replay() {
      for (const { raw } of parseBlocks(await readWholeLines(file))) await rpc('submitblock', raw)
    },
  }
}

/** Cuts an incomplete last line, which would corrupt the next line, and appends the text. @returns the new length in bytes */
async function truncateAndAppend(file: string, length: number, text: string): Promise<number> {
  const handle = await open(file, 'a')
  try {
    await handle.truncate(length)
    await handle.appendFile(text)
  } finally {
    await handle.close()
  }
  return length + text.length
}

/** @returns the complete lines. The file is ASCII, so a character is a byte. */
async function readWholeLines(file: string): Promise<string> {
  const text = await readFile(file, 'latin1').catch(() => '')
  return text.slice(0, text.lastIndexOf('\n') + 1)
}

const parseBlocks = (text: string): readonly ArchivedBlock[] =>
  text.split('\n').flatMap((line) => {
    const [hash, raw] = line.split(' ')
    return hash && raw ? [{ hash, raw }] : []
  })
