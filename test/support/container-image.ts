import { getContainerRuntimeClient, ImageName } from 'testcontainers'

const REGISTRY_TIMEOUT_MS = 20_000

/**
 * Finds out whether a container of this image can start. If the image is missing locally, its registry is queried, but the image
 * is not pulled. @returns a sentence with the reason, or undefined if a container can start
 */
export async function findImageSkipReason(image: string): Promise<string | undefined> {
  const client = await getContainerRuntimeClient().catch(reasonOf)
  if (typeof client === 'string') return `Docker is not available: ${client}`
  if (await client.image.exists(ImageName.fromString(image))) return undefined
  const registryAnswer = client.container.dockerode
    .getImage(image)
    .distribution()
    .then(() => undefined, reasonOf)
  const timeout = AbortSignal.timeout(REGISTRY_TIMEOUT_MS)
  const reason = await Promise.race([
    registryAnswer,
    new Promise<string>((resolve) => timeout.addEventListener('abort', () => resolve('the registry does not answer'))),
  ])
  return reason === undefined ? undefined : `There is no image ${image}, and it cannot be pulled: ${reason}`
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
