import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DOCKERFILE_ROOT } from './dockerfile.ts'

type Component = {
  readonly group?: string | null
  readonly name: string
  readonly version: string
  readonly licenses?: readonly object[]
  readonly 'bom-ref': string
}
export type BillOfMaterials = {
  readonly bomFormat: string
  readonly specVersion: string
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}
type Manifest = Readonly<Record<'dependencies' | 'devDependencies', Readonly<Record<string, string>> | undefined>>

export const getComponentName = ({ group, name }: Pick<Component, 'group' | 'name'>): string =>
  group ? `${group}/${name}` : name

const readManifests = (): readonly Manifest[] =>
  ['packages', 'services']
    .flatMap((group) =>
      readdirSync(join(DOCKERFILE_ROOT, group)).map((name) => join(DOCKERFILE_ROOT, group, name, 'package.json')),
    )
    .filter((path) => !path.includes('testkit'))
    .map((path) => JSON.parse(readFileSync(path, 'utf8')) as Manifest) // pnpm validates it

const collectNames = (lists: readonly (object | undefined)[]): ReadonlySet<string> =>
  new Set(lists.flatMap((list) => Object.keys(list ?? {})).filter((name) => !name.startsWith('@penstock/')))

/** Names of the packages that our packages need at run time. */
export const listDirectDependencies = (): ReadonlySet<string> =>
  collectNames(readManifests().map(({ dependencies }) => dependencies))

/** Names of the packages that our packages, the root and the tests need only for development. */
export function listDevelopmentDependencies(): ReadonlySet<string> {
  const rootManifest = JSON.parse(readFileSync(join(DOCKERFILE_ROOT, 'package.json'), 'utf8')) as Manifest // as above
  const testManifest = JSON.parse(readFileSync(join(DOCKERFILE_ROOT, 'test/package.json'), 'utf8')) as Manifest // as above
  const developmentNames = collectNames(
    [...readManifests(), rootManifest, testManifest].map(({ devDependencies }) => devDependencies),
  )
  return developmentNames.difference(listDirectDependencies())
}
