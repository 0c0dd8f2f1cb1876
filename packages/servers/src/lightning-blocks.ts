import { open, readFile } from 'node:fs/promises'

type Rpc = <T>(method: string, ...params: readonly unknown[]) => Promise<T>
type Kept = { readonly hash: string; readonly raw: string }

/** btcd begins a regression test chain anew whenever it starts, so its blocks are kept beside it. */
export type KeptBlocks = {
  /** Notes what is new on the chain. */
  readonly keep: () => Promise<void>
  /** Gives a chain that was begun anew all that it had, with the branches that were left. */
  readonly replay: () => Promise<void>
}

/** @param file with a block a line, parents first */
export function keptBlocks(file: string, rpc: Rpc): KeptBlocks {
  let written: { readonly hashes: Set<string>; length: number } | undefined
  async function writtenSoFar() {
    if (written) return written
    const whole = await wholeLines(file)
    const hashes = new Set([await rpc<string>('getblockhash', 0), ...blocksOf(whole).map(({ hash }) => hash)])
    return (written = { hashes, length: whole.length })
  }
  return {
    async keep() {
      const old = await writtenSoFar()
      const news: Kept[] = []
      for (let hash = await rpc<string>('getbestblockhash'); !old.hashes.has(hash);) {
        news.push({ hash, raw: await rpc<string>('getblock', hash, 0) })
        hash = (await rpc<{ previousblockhash: string }>('getblockheader', hash, true)).previousblockhash
      }
      if (news.length === 0) return
      const lines = news.reverse().map(({ hash, raw }) => `${hash} ${raw}\n`)
      old.length = await writeAt(file, old.length, lines.join(''))
      for (const { hash } of news) old.hashes.add(hash)
    },
    async replay() {
      for (const { raw } of blocksOf(await wholeLines(file))) await rpc('submitblock', raw)
    },
  }
}

/** What was cut off while it was written goes first, or the next line would be a part of it. @returns the length then */
async function writeAt(file: string, length: number, text: string): Promise<number> {
  const handle = await open(file, 'a')
  try {
    await handle.truncate(length)
    await handle.appendFile(text)
  } finally {
    await handle.close()
  }
  return length + text.length
}

/** A character is a byte: all of it is hex. */
async function wholeLines(file: string): Promise<string> {
  const text = await readFile(file, 'latin1').catch(() => '')
  return text.slice(0, text.lastIndexOf('\n') + 1)
}

const blocksOf = (text: string): readonly Kept[] =>
  text.split('\n').flatMap((line) => {
    const [hash, raw] = line.split(' ')
    return hash && raw ? [{ hash, raw }] : []
  })
