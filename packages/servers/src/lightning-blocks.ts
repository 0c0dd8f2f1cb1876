import { appendFile, readFile } from 'node:fs/promises'

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
  let known: Set<string> | undefined
  const knownOnes = async (): Promise<Set<string>> =>
    (known ??= new Set([await rpc<string>('getblockhash', 0), ...(await read(file)).map(({ hash }) => hash)]))
  return {
    async keep() {
      const old = await knownOnes()
      const news: Kept[] = []
      for (let hash = await rpc<string>('getbestblockhash'); !old.has(hash);) {
        news.push({ hash, raw: await rpc<string>('getblock', hash, 0) })
        hash = (await rpc<{ previousblockhash: string }>('getblockheader', hash, true)).previousblockhash
      }
      await appendFile(
        file,
        news
          .reverse()
          .map(({ hash, raw }) => `${hash} ${raw}\n`)
          .join(''),
      )
      for (const { hash } of news) old.add(hash)
    },
    async replay() {
      for (const { raw } of await read(file)) await rpc('submitblock', raw)
    },
  }
}

/** What was cut off while it was written is not there. */
async function read(file: string): Promise<readonly Kept[]> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .flatMap((line) => {
      const [hash, raw] = line.split(' ')
      return hash && raw ? [{ hash, raw }] : []
    })
}
