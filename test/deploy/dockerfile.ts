import { cp } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { join, matchesGlob, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runSuccessfully } from '../support/processes.ts'

export const DOCKERFILE_ROOT = fileURLToPath(new URL('../..', import.meta.url))
const readText = (path: string): string => readFileSync(join(DOCKERFILE_ROOT, path), 'utf8')

export type DockerInstruction = { readonly keyword: string; readonly argument: string }
export type DockerStage = {
  readonly from: string
  readonly name: string | undefined
  readonly steps: readonly DockerInstruction[]
}

/** Reads the stages of deploy/docker/Dockerfile with their instructions. Continued lines are joined. */
export function readDockerStages(): readonly DockerStage[] {
  const lines = readText('deploy/docker/Dockerfile')
    .replaceAll(/^[ \t]*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
  const dockerStages: { from: string; name: string | undefined; steps: DockerInstruction[] }[] = []
  for (const line of lines) {
    const [, keyword = '', argument = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    const [, from = '', name] = /^(\S+)(?: AS (\S+))?$/.exec(argument) ?? []
    if (keyword === 'FROM') dockerStages.push({ from, name, steps: [] })
    else if (keyword !== '') dockerStages.at(-1)?.steps.push({ keyword, argument })
  }
  return dockerStages
}

/** Whether .dockerignore includes a path. The last matching pattern decides, and a pattern with `!` includes. */
function isInBuildContext(path: string): boolean {
  const patterns = readText('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  let isIncluded = true
  for (const pattern of patterns) {
    const glob = pattern.replace(/^!/, '')
    if (matchesGlob(path, glob) || matchesGlob(path, `${glob}/**`)) isIncluded = pattern.startsWith('!')
  }
  return isIncluded
}

/** Executes the COPY and RUN instructions of a stage that is built from this checkout. The folder replaces its WORKDIR. */
export async function assembleStage(stage: DockerStage, folder: string): Promise<void> {
  for (const { keyword, argument } of stage.steps) {
    if (keyword === 'COPY') {
      const parts = argument.split(/\s+/)
      const to = parts.at(-1) ?? ''
      for (const from of parts.slice(0, -1))
        await cp(join(DOCKERFILE_ROOT, from), join(folder, to === './' ? from : to), {
          recursive: true,
          verbatimSymlinks: true,
          filter: (source) => isInBuildContext(relative(DOCKERFILE_ROOT, source)),
        })
    }
    if (keyword === 'RUN') await runSuccessfully('sh', ['-c', argument], { cwd: folder, env: { ...process.env, CI: 'true' } })
  }
}
