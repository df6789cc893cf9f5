# SPDX-License-Identifier: MIT
#
# Embeds the pages of `muster web` as bytes, and the chart library beside them: writes web_pages.c and web_pages.h, a
# table of path, type, ETag and body, sorted by path.
#
# At configure time this file gives muster_embed_pages(). At build time it runs itself as a script (cmake -P), so that an
# edit to a page, or a new one, embeds again.
#
# The paths: index.html is `/`, login.html is `/login`, every other FILE is `/assets/FILE`, and the library is
# `/assets/chart.js`.

set(MUSTER_PAGES_CMAKE ${CMAKE_CURRENT_LIST_FILE})
find_file(MUSTER_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist
  NO_DEFAULT_PATH DOC "Chart.js 3, as one minified file; Debian's package libjs-chart.js has it")

function(muster_embed_pages pages_dir out_dir)
  if(NOT MUSTER_CHART_JS)
    message(FATAL_ERROR "Chart.js is missing: install libjs-chart.js, or name the file by -DMUSTER_CHART_JS=FILE")
  endif()
  file(GLOB inputs CONFIGURE_DEPENDS ${pages_dir}/*)
  add_custom_command(
    OUTPUT ${out_dir}/web_pages.c ${out_dir}/web_pages.h
    COMMAND ${CMAKE_COMMAND} -DPAGES_DIR=${pages_dir} -DCHART_JS=${MUSTER_CHART_JS} -DOUT_DIR=${out_dir}
      -P ${MUSTER_PAGES_CMAKE}
    DEPENDS ${inputs} ${MUSTER_CHART_JS} ${MUSTER_PAGES_CMAKE}
    COMMENT "Embedding the pages"
    VERBATIM)
  set(MUSTER_PAGES_SOURCE ${out_dir}/web_pages.c ${out_dir}/web_pages.h PARENT_SCOPE)
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

cmake_policy(VERSION 3.25)

set(type_of_html "text/html; charset=utf-8")
set(type_of_css "text/css; charset=utf-8")
set(type_of_js "text/javascript; charset=utf-8")
set(type_of_svg "image/svg+xml; charset=utf-8")

function(path_of out name)
  set(path "/assets/${name}")
  if(name STREQUAL "index.html")
    set(path "/")
  elseif(name STREQUAL "login.html")
    set(path "/login")
  endif()
  set(${out} "${path}" PARENT_SCOPE)
endfunction()

# file_of_<path> for each of them
set(paths "/assets/chart.js")
set("file_of_/assets/chart.js" ${CHART_JS})
file(GLOB files ${PAGES_DIR}/*)
foreach(file ${files})
  get_filename_component(name ${file} NAME)
  if(NOT name MATCHES "^[a-z_]+\\.(html|css|js|svg)$")
    message(FATAL_ERROR "src/web/pages/${name}: a page is named in small letters, and ends in .html, .css, .js or .svg")
  endif()
  if(name STREQUAL "chart.js")
    message(FATAL_ERROR "src/web/pages/chart.js: this is the path of the chart library")
  endif()
  path_of(path ${name})
  list(APPEND paths ${path})
  set("file_of_${path}" ${file})
endforeach()
list(SORT paths)

set(n 0)
set(bodies "")
set(rows "")
foreach(path ${paths})
  set(file ${file_of_${path}})
  file(READ ${file} hex HEX)
  file(SIZE ${file} size)
  file(SHA256 ${file} hash)
  string(SUBSTRING ${hash} 0 20 hash)
  string(REGEX REPLACE "(..)" "0x\\1," hex "${hex}")
  string(REGEX MATCH "[a-z]+$" suffix ${file})
  string(APPEND bodies "static const unsigned char body_${n}[] = {${hex}};\n")
  string(APPEND rows "    {\"${path}\", \"${type_of_${suffix}}\", \"\\\"${hash}\\\"\", body_${n}, ${size}},\n")
  math(EXPR n "${n} + 1")
endforeach()

file(WRITE ${OUT_DIR}/web_pages.h.new "/* Made from src/web/pages/ by cmake/pages.cmake. */
#ifndef WEB_PAGES_H
#define WEB_PAGES_H

#include <stddef.h>

/* What is served at `path`. `etag` has its quotes. */
struct web_page {
    const char *path, *type, *etag;
    const unsigned char *body;
    size_t len;
};

#define WEB_PAGES ${n}

/* Sorted by path. */
extern const struct web_page web_pages[WEB_PAGES];
extern const size_t web_pages_count;

#endif
")
file(WRITE ${OUT_DIR}/web_pages.c.new "/* Made from src/web/pages/ by cmake/pages.cmake. */
#include \"web_pages.h\"

${bodies}
const struct web_page web_pages[WEB_PAGES] = {
${rows}};
const size_t web_pages_count = WEB_PAGES;
")
foreach(file web_pages.h web_pages.c)
  file(RENAME ${OUT_DIR}/${file}.new ${OUT_DIR}/${file})
endforeach()
