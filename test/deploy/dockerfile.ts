import { execFile } from 'node:child_process'
import { cp } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { join, matchesGlob, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
export const root = fileURLToPath(new URL('../..', import.meta.url))
const text = (path: string): string => readFileSync(join(root, path), 'utf8')

export type Step = { readonly word: string; readonly rest: string }
export type Stage = { readonly from: string; readonly name: string | undefined; readonly steps: readonly Step[] }

/** The stages of deploy/docker/Dockerfile with their instructions, continued lines put together. */
export function stages(): readonly Stage[] {
  const lines = text('deploy/docker/Dockerfile')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
  const found: { from: string; name: string | undefined; steps: Step[] }[] = []
  for (const line of lines) {
    const [, word = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    const [, from = '', name] = /^(\S+)(?: AS (\S+))?$/.exec(rest) ?? []
    if (word === 'FROM') found.push({ from, name, steps: [] })
    else if (word !== '') found.at(-1)?.steps.push({ word, rest })
  }
  return found
}

/** What .dockerignore lets through: everything is ignored, but for what is named with a `!`, less what stands after it. */
function isSent(path: string): boolean {
  const patterns = text('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  let sent = true
  for (const pattern of patterns) {
    const glob = pattern.replace(/^!/, '')
    if (matchesGlob(path, glob) || matchesGlob(path, `${glob}/**`)) sent = pattern.startsWith('!')
  }
  return sent
}

/** Carries out the COPY and RUN of a stage that is made from this checkout, in a folder in place of its WORKDIR. */
export async function assemble(stage: Stage, folder: string): Promise<void> {
  for (const { word, rest } of stage.steps) {
    if (word === 'COPY') {
      const parts = rest.split(/\s+/)
      const to = parts.at(-1) ?? ''
      for (const from of parts.slice(0, -1))
        await cp(join(root, from), join(folder, to === './' ? from : to), {
          recursive: true,
          verbatimSymlinks: true,
          filter: (source) => isSent(relative(root, source)),
        })
    }
    if (word === 'RUN') await run('sh', ['-c', rest], { cwd: folder, env: { ...process.env, CI: 'true' }, maxBuffer: 16 << 20 })
  }
}
