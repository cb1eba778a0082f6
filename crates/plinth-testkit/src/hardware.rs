//! A script that acts like an ffmpeg with hardware encoders.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::tools::ffmpeg_in_scripts;

/// Bash functions that simulate a hardware encoder. `encode` calls the real ffmpeg, and replaces the options of the
/// hardware encoder by those of libx264 with a fast preset. `$ENCODER` is the requested encoder. `$SIZE` is the size of
/// raw input frames, or empty if ffmpeg reads a file.
const TRANSLATION: &str = r#"
ENCODER= SIZE= ARGS=()
for ((i = 1; i <= $#; i++)); do
    option=${!i} j=$((i + 1)) value=
    if ((j <= $#)); then value=${!j}; fi
    case $option in
        -c:v)
            if [[ $value == h264_* ]]; then
                ENCODER=$value
                ARGS+=(-c:v libx264 -preset superfast -sc_threshold 0 -x264-params open-gop=0)
                i=$j
                continue
            fi ;;
        -video_size) SIZE=$value ;;
    esac
    case $option in
        -preset | -tune | -rc | -spatial-aq | -no-scenecut | -forced-idr | -rc_mode | -allow_sw | -realtime | -init_hw_device | \
            -filter_hw_device) i=$j ;;
        -b:v) i=$j ;;
        # ffmpeg does not pass this option to NVENC.
        -chroma_sample_location) if [[ $* != *h264_nvenc* ]]; then ARGS+=("$option" "$value"); fi; i=$j ;;
        -cq | -qp | -global_quality) ARGS+=(-crf "$value"); i=$j ;;
        -q:v) if [[ $* == *videotoolbox* ]]; then ARGS+=(-crf 17); else ARGS+=("$option" "$value"); fi; i=$j ;;
        *) ARGS+=("${option//,hwupload/}") ;;
    esac
done
if [[ "$*" == *" -encoders" ]]; then
    for name in $LISTED; do echo " V....D $name           an encoder (codec h264)"; done
    exit
fi
if [[ -z $ENCODER ]]; then exec "$FFMPEG" "$@"; fi
encode() { exec "$FFMPEG" "${ARGS[@]}"; }
"#;

/// Writes a script to `folder` that acts like an ffmpeg with the hardware encoders in `listed`, but encodes with
/// libx264. When one of these encoders is requested, the script first runs the Bash code `lines`. The code may fail,
/// hang, or call `encode`, which does not return. In the code, `$ENCODER` is the requested encoder. `$SIZE` is the size
/// of the raw input frames, or empty if ffmpeg reads a file.
pub fn hardware_ffmpeg(folder: &Path, listed: &[&str], lines: &str) -> PathBuf {
    let path = folder.join("hardware-ffmpeg");
    let head = ffmpeg_in_scripts();
    let text = format!("#!/bin/bash\n{head}LISTED='{}'\n{TRANSLATION}\n{lines}\nencode\n", listed.join(" "));
    std::fs::write(&path, text).expect("the folder can be written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its own file");
    path
}
