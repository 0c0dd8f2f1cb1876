import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const pom = join(import.meta.dirname, 'kafka.pom.xml')
const LEAST_JAVA = 17

/**
 * Puts the jars of a broker into the cache, once per version: into a folder beside, then renamed, so that an interrupted
 * or parallel run never leaves half of one.
 * @returns the class path
 * @throws Error where neither the cache nor Maven has them
 */
export async function installKafka(): Promise<string> {
  const { version, jars } = await place()
  if (existsSync(jars)) return join(jars, '*')
  await mkdir(join(jars, '..'), { recursive: true })
  const partial = await mkdtemp(`${jars}.partial-`)
  try {
    const flags = ['-DincludeScope=runtime', `-Dkafka.version=${version}`, `-DoutputDirectory=${partial}`]
    await run('mvn', ['-q', '-B', '-f', pom, 'dependency:copy-dependencies', ...flags])
    await chmod(partial, 0o755)
    await rename(partial, jars)
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    // Else another process has just put the same there.
    if (!existsSync(jars)) throw error
  }
  return join(jars, '*')
}

/** @returns why no broker can run on this machine, in a sentence; undefined where one can */
export async function kafkaMissing(): Promise<string | undefined> {
  const java = firstLine('java', ['-version'])
  const major = Number(/version "(\d+)/.exec(java ?? '')?.[1] ?? 0)
  if (major < LEAST_JAVA) return `Kafka needs Java ${LEAST_JAVA} or newer, and here is ${java ?? 'none'}.`
  if (existsSync((await place()).jars) || firstLine('mvn', ['-version'])) return undefined
  return 'Kafka needs Maven once, to get its jars, and there is none.'
}

async function place(): Promise<{ readonly version: string; readonly jars: string }> {
  const version = /<kafka\.version>(.+?)<\//.exec(await readFile(pom, 'utf8'))?.[1]
  if (version === undefined) throw new Error(`${pom} names no kafka.version`)
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return { version, jars: join(cache, 'penstock', 'kafka', version) }
}

/** What a program says first when it is asked for its version; Java says it on standard error. */
function firstLine(program: string, args: readonly string[]): string | undefined {
  try {
    return execFileSync('sh', ['-c', `${program} ${args.join(' ')} 2>&1`], { encoding: 'utf8' }).split('\n')[0]
  } catch {
    return undefined
  }
}
